"""Generates corpora of any size, whose deciding steps are known, without a download.

Results are NumPy arrays, and no function uses a backend. Text files in `words/` contain the words
and patterns.
"""

from keras_attnpool.workbench.corpora._questions import questions as questions
from keras_attnpool.workbench.corpora._recordings import Recordings as Recordings
from keras_attnpool.workbench.corpora._recordings import recordings as recordings
from keras_attnpool.workbench.corpora._reviews import reviews as reviews
from keras_attnpool.workbench.corpora._sentence_pairs import sentence_pairs as sentence_pairs
