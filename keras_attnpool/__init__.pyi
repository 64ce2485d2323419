"""The names of `__init__.py`, with the rooms that it imports only when they are used."""

from keras_attnpool import analysis as analysis
from keras_attnpool import batches as batches
from keras_attnpool import layers as layers
from keras_attnpool import models as models
from keras_attnpool import ops as ops
from keras_attnpool import regularizers as regularizers
from keras_attnpool import testing as testing
from keras_attnpool import workbench as workbench
from keras_attnpool._checks import ArgumentError as ArgumentError
from keras_attnpool.workbench import corpora as corpora
from keras_attnpool.workbench import datasets as datasets
from keras_attnpool.workbench import load_run as load_run
from keras_attnpool.workbench import text as text

__all__ = ["ArgumentError", "analysis", "batches", "layers", "models", "ops", "regularizers"]
__all__ += ["testing", "workbench"]
__version__: str
