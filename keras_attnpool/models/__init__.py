"""Model builders, one function per model; each returns a functional, uncompiled `keras.Model`."""

from keras_attnpool.models._parts import ENCODERS as ENCODERS
from keras_attnpool.models._parts import POOLINGS as POOLINGS
from keras_attnpool.models.attention_bilstm import AttentionBiLSTM as AttentionBiLSTM
from keras_attnpool.models.average_embedding import AverageEmbedding as AverageEmbedding
from keras_attnpool.models.backbone_classifier import BackboneClassifier as BackboneClassifier
from keras_attnpool.models.bigru import BiGRU as BiGRU
from keras_attnpool.models.bilstm import BiLSTM as BiLSTM
from keras_attnpool.models.disan import BiBloSAN as BiBloSAN
from keras_attnpool.models.disan import DiSAN as DiSAN
from keras_attnpool.models.generalized_pooling import (
    GeneralizedPoolingClassifier as GeneralizedPoolingClassifier,
)
from keras_attnpool.models.generalized_pooling import (
    GeneralizedPoolingPair as GeneralizedPoolingPair,
)
from keras_attnpool.models.han import HAN as HAN
from keras_attnpool.models.hcan import HCAN as HCAN
from keras_attnpool.models.lama import LAMA as LAMA
from keras_attnpool.models.lama import LAMAEncoder as LAMAEncoder
from keras_attnpool.models.mpsan import MPSAN as MPSAN
from keras_attnpool.models.mpsan import MPSANPair as MPSANPair
from keras_attnpool.models.multi_head_san import MultiHeadSAN as MultiHeadSAN
from keras_attnpool.models.sam import SAM as SAM
from keras_attnpool.models.san import SAN as SAN
from keras_attnpool.models.text_classifier import TextClassifier as TextClassifier
from keras_attnpool.models.text_cnn import TextCNN as TextCNN
from keras_attnpool.models.transformer_encoder_classifier import (
    TransformerEncoderClassifier as TransformerEncoderClassifier,
)
