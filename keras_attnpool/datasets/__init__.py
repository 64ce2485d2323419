"""Labelled texts: embedded corpora, public data sets by name, your own files.

NumPy in, NumPy out: nothing here needs a backend.
"""

from keras_attnpool.datasets.labeled_texts import LabeledTexts, SentencePairs
from keras_attnpool.datasets.nli_files import load_nli
from keras_attnpool.datasets.public_sets import available, cache_folder, load
from keras_attnpool.datasets.questions import questions
from keras_attnpool.datasets.reviews import reviews
from keras_attnpool.datasets.sentence_pairs import sentence_pairs
from keras_attnpool.datasets.user_files import load_csv, load_tsv

__all__ = [
    "LabeledTexts",
    "SentencePairs",
    "available",
    "cache_folder",
    "load",
    "load_csv",
    "load_nli",
    "load_tsv",
    "questions",
    "reviews",
    "sentence_pairs",
]
