"""Attention and pooling layers for text on Keras 3: TensorFlow, PyTorch and JAX."""

from keras_attnpool import layers as layers
from keras_attnpool import models as models
from keras_attnpool import ops as ops
from keras_attnpool import regularizers as regularizers

__version__ = "0.1.0"
