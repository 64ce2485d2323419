"""Loads labelled texts: public data sets by name, and your own files.

No function uses a Keras backend, and arrays are NumPy arrays. See
`keras_attnpool.workbench.corpora` for generated texts.
"""

from keras_attnpool.workbench.datasets.labeled_texts import LabeledTexts as LabeledTexts
from keras_attnpool.workbench.datasets.labeled_texts import SentencePairs as SentencePairs
from keras_attnpool.workbench.datasets.nli_files import load_nli as load_nli
from keras_attnpool.workbench.datasets.public_sets import available as available
from keras_attnpool.workbench.datasets.public_sets import cache_folder as cache_folder
from keras_attnpool.workbench.datasets.public_sets import load as load
from keras_attnpool.workbench.datasets.user_files import load_csv as load_csv
from keras_attnpool.workbench.datasets.user_files import load_tsv as load_tsv
