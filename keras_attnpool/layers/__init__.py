"""Layers that turn a sequence into vectors by attention, and the mask-safe baselines."""

from keras_attnpool.layers.add_position_embedding import (
    AddPositionEmbedding as AddPositionEmbedding,
)
from keras_attnpool.layers.attention_pooling import AttentionPooling as AttentionPooling
from keras_attnpool.layers.attentive_statistics_pooling import (
    AttentiveStatisticsPooling as AttentiveStatisticsPooling,
)
from keras_attnpool.layers.bidirectional_gru import BidirectionalGRU as BidirectionalGRU
from keras_attnpool.layers.bidirectional_lstm import BidirectionalLSTM as BidirectionalLSTM
from keras_attnpool.layers.block_self_attention import BlockSelfAttention as BlockSelfAttention
from keras_attnpool.layers.character_embedding import CharacterEmbedding as CharacterEmbedding
from keras_attnpool.layers.conv_attention_pooling import (
    ConvAttentionPooling as ConvAttentionPooling,
)
from keras_attnpool.layers.conv_multi_head_attention import (
    ConvMultiHeadAttention as ConvMultiHeadAttention,
)
from keras_attnpool.layers.directional_self_attention import (
    DirectionalSelfAttention as DirectionalSelfAttention,
)
from keras_attnpool.layers.feature_wise_attention import (
    FeatureWiseAttention as FeatureWiseAttention,
)
from keras_attnpool.layers.first_pooling1d import FirstPooling1D as FirstPooling1D
from keras_attnpool.layers.fusion_gate import FusionGate as FusionGate
from keras_attnpool.layers.generalized_mean_pooling1d import (
    GeneralizedMeanPooling1D as GeneralizedMeanPooling1D,
)
from keras_attnpool.layers.generalized_pooling import GeneralizedPooling as GeneralizedPooling
from keras_attnpool.layers.hierarchical_encoder import HierarchicalEncoder as HierarchicalEncoder
from keras_attnpool.layers.last_pooling1d import LastPooling1D as LastPooling1D
from keras_attnpool.layers.learned_query_pooling import LearnedQueryPooling as LearnedQueryPooling
from keras_attnpool.layers.low_rank_attention_pooling import (
    LowRankAttentionPooling as LowRankAttentionPooling,
)
from keras_attnpool.layers.masked_average_pooling1d import (
    MaskedAveragePooling1D as MaskedAveragePooling1D,
)
from keras_attnpool.layers.masked_max_pooling1d import MaskedMaxPooling1D as MaskedMaxPooling1D
from keras_attnpool.layers.multi_dim_attention_pooling import (
    MultiDimAttentionPooling as MultiDimAttentionPooling,
)
from keras_attnpool.layers.names import get as get
from keras_attnpool.layers.names import is_attention_layer as is_attention_layer
from keras_attnpool.layers.pair_matching import PairMatching as PairMatching
from keras_attnpool.layers.position_fusion import PositionFusion as PositionFusion
from keras_attnpool.layers.positional_self_attention import (
    PositionalSelfAttention as PositionalSelfAttention,
)
from keras_attnpool.layers.sequential_attention import SequentialAttention as SequentialAttention
from keras_attnpool.layers.shortcut_stacked_bilstm import (
    ShortcutStackedBiLSTM as ShortcutStackedBiLSTM,
)
from keras_attnpool.layers.statistics_pooling1d import StatisticsPooling1D as StatisticsPooling1D
from keras_attnpool.layers.structured_self_attention_pooling import (
    StructuredSelfAttentionPooling as StructuredSelfAttentionPooling,
)
from keras_attnpool.layers.token_wise_attention import TokenWiseAttention as TokenWiseAttention
