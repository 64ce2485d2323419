"""Labelled texts: embedded corpora, public data sets by name, your own files.

NumPy in, NumPy out: nothing here needs a backend.
"""

from keras_attnpool.datasets.labeled_texts import LabeledTexts as LabeledTexts
from keras_attnpool.datasets.labeled_texts import SentencePairs as SentencePairs
from keras_attnpool.datasets.nli_files import load_nli as load_nli
from keras_attnpool.datasets.public_sets import available as available
from keras_attnpool.datasets.public_sets import cache_folder as cache_folder
from keras_attnpool.datasets.public_sets import load as load
from keras_attnpool.datasets.questions import questions as questions
from keras_attnpool.datasets.reviews import reviews as reviews
from keras_attnpool.datasets.sentence_pairs import sentence_pairs as sentence_pairs
from keras_attnpool.datasets.user_files import load_csv as load_csv
from keras_attnpool.datasets.user_files import load_tsv as load_tsv
