"""Turns strings into the integer arrays that a model reads, and trains word vectors.

All functions return NumPy arrays. Id 0 always stands for padding.
"""

from keras_attnpool.workbench.text.character_tokenizer import (
    CharacterTokenizer as CharacterTokenizer,
)
from keras_attnpool.workbench.text.document_batches import DocumentBatches as DocumentBatches
from keras_attnpool.workbench.text.language_model import LanguageModel as LanguageModel
from keras_attnpool.workbench.text.sentences import split_sentences as split_sentences
from keras_attnpool.workbench.text.word_tokenizer import WordTokenizer as WordTokenizer
from keras_attnpool.workbench.text.word_vectors import load_word_vectors as load_word_vectors
from keras_attnpool.workbench.text.word_vectors import word2vec as word2vec
