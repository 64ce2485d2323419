"""Attention layers that turn a sequence into vectors, and mask-safe baselines."""

from .add_position_embedding import AddPositionEmbedding as AddPositionEmbedding
from .attention_pooling import AttentionPooling as AttentionPooling
from .attentive_statistics_pooling import AttentiveStatisticsPooling as AttentiveStatisticsPooling
from .bidirectional_gru import BidirectionalGRU as BidirectionalGRU
from .bidirectional_lstm import BidirectionalLSTM as BidirectionalLSTM
from .block_self_attention import BlockSelfAttention as BlockSelfAttention
from .character_embedding import CharacterEmbedding as CharacterEmbedding
from .conv_attention_pooling import ConvAttentionPooling as ConvAttentionPooling
from .conv_multi_head_attention import ConvMultiHeadAttention as ConvMultiHeadAttention
from .directional_self_attention import DirectionalSelfAttention as DirectionalSelfAttention
from .feature_wise_attention import FeatureWiseAttention as FeatureWiseAttention
from .first_pooling1d import FirstPooling1D as FirstPooling1D
from .fusion_gate import FusionGate as FusionGate
from .generalized_mean_pooling1d import GeneralizedMeanPooling1D as GeneralizedMeanPooling1D
from .generalized_pooling import GeneralizedPooling as GeneralizedPooling
from .hierarchical_encoder import HierarchicalEncoder as HierarchicalEncoder
from .last_pooling1d import LastPooling1D as LastPooling1D
from .learned_query_pooling import LearnedQueryPooling as LearnedQueryPooling
from .low_rank_attention_pooling import LowRankAttentionPooling as LowRankAttentionPooling
from .masked_average_pooling1d import MaskedAveragePooling1D as MaskedAveragePooling1D
from .masked_max_pooling1d import MaskedMaxPooling1D as MaskedMaxPooling1D
from .multi_dim_attention_pooling import MultiDimAttentionPooling as MultiDimAttentionPooling
from .names import get as get
from .names import is_attention_layer as is_attention_layer
from .pair_matching import PairMatching as PairMatching
from .position_fusion import PositionFusion as PositionFusion
from .positional_self_attention import PositionalSelfAttention as PositionalSelfAttention
from .sequential_attention import SequentialAttention as SequentialAttention
from .shortcut_stacked_bilstm import ShortcutStackedBiLSTM as ShortcutStackedBiLSTM
from .statistics_pooling1d import StatisticsPooling1D as StatisticsPooling1D
from .structured_self_attention_pooling import (
    StructuredSelfAttentionPooling as StructuredSelfAttentionPooling,
)
from .token_wise_attention import TokenWiseAttention as TokenWiseAttention
