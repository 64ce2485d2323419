"""The names of `__init__.py`, with the rooms that it imports only when they are used."""

from keras_attnpool import analysis as analysis
from keras_attnpool import corpora as corpora
from keras_attnpool import datasets as datasets
from keras_attnpool import layers as layers
from keras_attnpool import models as models
from keras_attnpool import ops as ops
from keras_attnpool import regularizers as regularizers
from keras_attnpool import text as text
from keras_attnpool._checks import ArgumentError as ArgumentError
from keras_attnpool.cli.trained import load_run as load_run

__all__ = [
    "ArgumentError",
    "analysis",
    "corpora",
    "datasets",
    "layers",
    "load_run",
    "models",
    "ops",
]
__all__ += ["regularizers", "text"]
__version__: str
