"""Corpora that are generated: any size, nothing to download, and the deciding steps known.

NumPy out: nothing here uses a backend. The words and patterns are text files in `words/`.
"""

from keras_attnpool.workbench.corpora._questions import questions as questions
from keras_attnpool.workbench.corpora._recordings import Recordings as Recordings
from keras_attnpool.workbench.corpora._recordings import recordings as recordings
from keras_attnpool.workbench.corpora._reviews import reviews as reviews
from keras_attnpool.workbench.corpora._sentence_pairs import sentence_pairs as sentence_pairs
