"""Word vectors of the reproductions: the user's GloVe file, or the word table of MiniLM.

The papers use GloVe of 300 dimensions: Generalized Pooling the vectors of 840 billion tokens, MPSAN
those of 6 billion. Where no file is at hand, words get the vectors of a small pre-trained language
model's word-piece table: the mean over a word's pieces, the table's mean removed, turned onto its
first principal axes, and scaled to unit variance.
"""

from pathlib import Path

import numpy as np

from keras_attnpool.workbench import text
from keras_attnpool.workbench.text.language_model import minilm_folder

TABLE = "embeddings.word_embeddings.weight"


def word_vectors(
    tokenizer: text.WordTokenizer, path: str | None, dim: int = 192
) -> tuple[np.ndarray, str]:
    """Vectors of a vocabulary, and in words where they are from.

    Args:
        tokenizer: The vocabulary.
        path: File of vectors in GloVe's text format, or `None` for MiniLM's word table.
        dim: Dimensions to keep of MiniLM's 384.

    Returns:
        Float32 `(vocabulary_size, dim)`, row 0 zeros, and a description.
    """
    if path is not None:
        vectors, coverage = text.load_word_vectors(path, tokenizer)
        return vectors, f"{Path(path).name}, {100 * coverage:.0f} % of the words found"
    return minilm_vectors(tokenizer.vocabulary, dim), (
        f"word-piece table of all-MiniLM-L6-v2, mean over a word's pieces, {dim} principal axes"
    )


def minilm_vectors(vocabulary: tuple[str, ...], dim: int) -> np.ndarray:
    """MiniLM's vectors of the words, float32 `(V, dim)`; padding is zero."""
    try:
        folder = Path(minilm_folder())
    except ImportError as error:
        raise SystemExit(f"{error}\nOr give a file in GloVe's text format by --vectors.") from error
    from safetensors import safe_open
    from tokenizers import Tokenizer

    with safe_open(folder / "model.safetensors", framework="np") as file:
        table = file.get_tensor(TABLE).astype("float64")
    table -= table.mean(axis=0)
    # Principal axes of the table: right singular vectors, by the small matrix.
    _, axes = np.linalg.eigh(table.T @ table)
    table = table @ axes[:, ::-1][:, :dim]
    table /= table.std()
    pieces = Tokenizer.from_str((folder / "tokenizer.json").read_text(encoding="utf-8"))
    pieces.no_padding()
    pieces.no_truncation()
    vectors = np.zeros((len(vocabulary), dim), "float32")
    for index, word in enumerate(vocabulary[1:], start=1):
        ids = pieces.encode(word, add_special_tokens=False).ids
        # A word of control characters has no piece: its vector stays zero, as an unknown word's.
        if ids:
            vectors[index] = table[ids].mean(axis=0)
    return vectors
