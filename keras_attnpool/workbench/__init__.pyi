"""The names of `__init__.py`, which imports them when they are used."""

from keras_attnpool.workbench import cli as cli
from keras_attnpool.workbench import corpora as corpora
from keras_attnpool.workbench import datasets as datasets
from keras_attnpool.workbench import text as text
from keras_attnpool.workbench.cli.trained import load_run as load_run

__all__ = ["cli", "corpora", "datasets", "load_run", "text"]
