"""Turns texts into the inputs of a network: words, or tokens of a language model."""

import functools
import itertools
import reprlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import keras
import numpy as np
import numpy.typing as npt

from keras_attnpool._checks import ArgumentError
from keras_attnpool.batches import SequenceBatches, kept_lengths, length_buckets
from keras_attnpool.workbench import text
from keras_attnpool.workbench.cli import networks, tfidf
from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import Options, flag
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.datasets import LabeledTexts, cache_folder

VOCABULARY = "vocabulary.json"
# Each length of batches is compiled. So there are few lengths, and more padding.
LENGTHS = 2
WORD_STEP, TOKEN_STEP = 32, 16

Parts = Mapping[str, LabeledTexts]


class Words:
    """Word ids `(texts, time)`, where 0 is padding.

    Args:
        tokenizer: The tokenizer with the vocabulary of the training texts.
        max_length: Largest number of words. Longer texts are cut.
    """

    kind = "words"

    def __init__(self, tokenizer: text.WordTokenizer, max_length: int) -> None:
        self.tokenizer, self.max_length = tokenizer, max_length
        self.cut = 0.0  # share of the training texts that are longer

    @classmethod
    def learn(cls, texts: Sequence[str], options: Options, asked: networks.Encoder) -> Self:
        """Makes a reader with the vocabulary of the training texts."""
        tokenizer = text.WordTokenizer.train(texts, options.min_frequency)
        learned = cls(tokenizer, options.max_length)
        lengths = np.array([learned.length(content) for content in texts])
        learned.cut = float(np.mean(lengths > options.max_length))
        return learned

    @classmethod
    def load(cls, run: Path, settings: dict[str, Any]) -> Self:
        """Returns the reader that the files of `save` and the entries of `settings` describe."""
        return cls(text.WordTokenizer.load(run / VOCABULARY), settings["max_length"])

    def save(self, run: Path) -> None:
        """Writes the data that are not part of the configuration."""
        self.tokenizer.save(run / VOCABULARY)

    @property
    def settings(self) -> dict[str, Any]:
        """The reader's entries in the configuration."""
        return {"kind": self.kind, "max_length": self.max_length}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a model builder that describe its inputs."""
        return {"vocabulary_size": self.tokenizer.vocabulary_size}

    def check(self, model: keras.Model) -> None:
        """Raises an error if the model has another vocabulary.

        Raises:
            ValueError: If the model does not read the ids of this vocabulary.
        """
        if keras.tree.is_nested(model.input) or len(model.input.shape) != 2:
            raise ValueError(f"it should read words. Received: {model.input_shape}")
        rows = [each.input_dim for each in networks.embeddings(model)]
        if rows != [self.tokenizer.vocabulary_size]:
            raise ValueError(
                f"it should have embeddings of {self.tokenizer.vocabulary_size} words. "
                f"Received: {rows}"
            )

    def __str__(self) -> str:
        cut = _told_cut(self.cut, "max_length")
        return f"Words: {self.tokenizer.vocabulary_size}{cut}"

    def encode(self, texts: Sequence[str]) -> Any:
        """Makes a model's inputs, in few lengths, because a model is compiled for each length."""
        ids = self._ids(texts)
        longest = ids.shape[1]
        more = _rounded(longest, WORD_STEP, self.max_length) - longest
        return np.pad(ids, ((0, 0), (0, more)))

    def _ids(self, texts: Sequence[str]) -> npt.NDArray[np.int32]:
        return self.tokenizer.encode(texts, max_length=self.max_length)

    def words(self, content: str) -> list[str]:
        """Returns the words of a text as the model reads them. "[UNK]" follows unknown words."""
        unknown, (row,) = self.tokenizer.vocabulary[1], self._ids([content])
        words = zip(self.tokenizer.tokenize(content), row[row != 0], strict=False)
        return [f"{word} {unknown}" if index == 1 else word for word, index in words]

    def length(self, content: str) -> int:
        """Counts the words of the text, including words that are cut off."""
        return len(self.tokenizer.tokenize(content))

    def without(self, texts: Sequence[str], left_out: Sequence[Sequence[int]]) -> Any:
        """The inputs of texts without the words at the given positions."""
        variants = self.encode(texts)
        for variant, group in zip(variants, left_out, strict=True):
            left = np.delete(variant, group)
            variant[:] = [*left, *[0] * len(group)]
        return variants

    def over_words(self, content: str, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Turns a text's weights `(heads, kept steps)` into weights of its words."""
        return weights

    def mask(self, inputs: Any) -> npt.NDArray[np.bool_]:
        """Boolean array `(texts, time)`, True where the result of `encode` is not padding."""
        return np.asarray(inputs != 0)

    def vectors(self, texts: Sequence[str], options: Options) -> npt.NDArray[np.float32] | None:
        """The initial embeddings, trained or read from a file, or `None` for random embeddings."""
        source, seed = options.embeddings, options.seed
        if source == "random":
            return None
        if source == "word2vec":
            print("Training word2vec ...", flush=True)
            dim = options.embedding_dim or networks.EMBEDDING_DIM
            with reported():
                return text.word2vec(texts, self.tokenizer, dim=dim, seed=seed)
        with reported("--embeddings"):
            vectors, coverage = text.load_word_vectors(source, self.tokenizer, seed)
        print(f"{source} has vectors for {coverage:.0%} of the words.")
        return vectors

    def batches(self, parts: Parts, options: Options) -> dict[str, Any]:
        """The batches for `fit` and `predict` of every part of the data."""
        ids = {name: self._ids(part.texts) for name, part in parts.items()}
        lengths = np.concatenate([np.count_nonzero(rows, axis=1) for rows in ids.values()])
        return _batches(SequenceBatches, ids, parts, options, length_buckets(lengths, LENGTHS))


class Features:
    """The states of a frozen language model. The states are computed once and stored on disk.

    Args:
        language_model: The language model with its tokenizer.
        preset: Name of the language model.
        layer: The layer whose states are the features. `None` is the last layer.
        scale: Factor that gives the features the variance 1.
    """

    kind = "features"
    fine_tune = False
    cut = 0.0  # share of the training texts that fill all tokens: nearly all are cut

    def __init__(
        self,
        language_model: text.LanguageModel,
        preset: str,
        layer: int | None,
        scale: float = 1.0,
    ) -> None:
        self.language_model, self.preset, self.layer = language_model, preset, layer
        self.scale = scale
        self.scorer: tfidf.TfIdf | None = None  # its scores are added to those of the model
        self.max_length = language_model.sequence_length
        self._features: dict[str, Any] = {}
        # KerasHub's tokenizers are slow for single words, and reports need the same words often.
        self._pieces = functools.lru_cache(1024)(self._pieces_of)

    @classmethod
    def learn(cls, texts: Sequence[str], options: Options, asked: networks.Encoder) -> Self:
        """Makes a reader of `--max-tokens` tokens, because texts of a later call may be longer."""
        preset, most = str(asked.language_model), options.max_tokens
        try:
            loaded = text.LanguageModel.from_preset(preset, most, layer=asked.layer)
        except ArgumentError:  # the name is not the preset
            raise
        except ValueError as error:
            # KerasHub's message for an unknown name explains only its Python functions.
            why = "" if "Unknown preset identifier" in str(error) else f" ({error})"
            wanted = networks.WANTED["encoder"]
            raise CommandError(f"{wanted}. Received: {preset!r}{why}") from error
        learned = cls(loaded, preset, asked.layer)
        sizes = loaded.encode(_spaced(texts))["padding_mask"].sum(axis=1)
        learned.cut = float(np.mean(sizes == most))
        return learned

    @classmethod
    def load(cls, run: Path, settings: dict[str, Any]) -> Self:
        """The reader that `settings` describes."""
        preset, layer = settings["preset"], settings.get("layer")
        loaded = text.LanguageModel.from_preset(preset, settings["max_length"], layer=layer)
        reader = cls(loaded, preset, layer, float(settings["scale"]))
        if settings.get("tfidf"):
            reader.scorer = tfidf.TfIdf.load(run)
        return reader

    def save(self, run: Path) -> None:
        """Writes the data that are not part of the configuration."""
        if self.scorer is not None:
            self.scorer.save(run)

    @property
    def settings(self) -> dict[str, Any]:
        """The reader's entries in the configuration."""
        names = ("kind", "preset", "layer", "max_length", "scale")
        return {name: getattr(self, name) for name in names} | {"tfidf": self.scorer is not None}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a model builder that describe its inputs."""
        return {"vocabulary_size": None, "backbone": self.language_model.dim}

    def check(self, model: keras.Model) -> None:
        """Raises an error if the model has other inputs.

        Raises:
            ValueError: If the model does not read the outputs of the language model.
        """
        ranks = {"features": 3, "padding_mask": 2}
        if self.fine_tune:
            ranks = dict.fromkeys(self.language_model.encode([""]), 2)
        if self.scorer is not None:
            ranks[tfidf.INPUT] = 2
        inputs = model.input if isinstance(model.input, dict) else {}
        if {name: len(each.shape) for name, each in inputs.items()} != ranks:
            raise ValueError(f"it should read {list(ranks)}. Received: {model.input_shape}")

    def __str__(self) -> str:
        layer = f", layer {self.layer}" if self.layer else ""
        cut = _told_cut(self.cut, "max_tokens")
        return (
            f"Language model: {self.preset}{layer}, up to {self.max_length} tokens of a text{cut}"
        )

    def encode(self, texts: Sequence[str]) -> Any:
        """The inputs of a model."""
        inputs = self.language_model.features(_spaced(texts), dtype="float32")
        inputs["features"] *= np.float32(self.scale)
        return inputs if self.scorer is None else inputs | {tfidf.INPUT: self.scorer(texts)}

    def words(self, content: str) -> list[str]:
        """Returns a text's words, split at white space, up to the last one that the model reads."""
        return [word for word, size in self._pieces(content) if size]

    def length(self, content: str) -> int:
        """Counts the words of the text, including words that are cut off."""
        return len(content.split())

    def without(self, texts: Sequence[str], left_out: Sequence[Sequence[int]]) -> Any:
        """The inputs of texts without the words at the given positions."""
        words = {content: self.words(content) for content in set(texts)}
        return self.encode(
            [
                " ".join(word for place, word in enumerate(words[content]) if place not in group)
                for content, group in zip(texts, left_out, strict=True)
            ]
        )

    def over_words(self, content: str, weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Averages the weights `(heads, tokens)` over the tokens of each word."""
        sizes = [size for _, size in self._pieces(content) if size]
        ends = 1 + np.cumsum([0, *sizes])  # after the special token at the start of every text
        means = [weights[:, a:b].mean(axis=1) for a, b in itertools.pairwise(ends)]
        return np.stack(means, axis=1) if means else weights[:, :0]

    def _pieces_of(self, content: str) -> list[tuple[str, int]]:
        """The words that are not cut off, each with the number of its tokens."""
        words = content.split()
        if not words:
            return []
        # In byte-level vocabularies, a word has other pieces after a space, so "a" precedes each
        # word.
        none, one, *behind = self.language_model.tokens(
            ["", "a", words[0], *(f"a {word}" for word in words[1:])]
        )
        left = self.max_length - len(none)
        pieces = []
        for place, (word, tokens) in enumerate(zip(words, behind, strict=True)):
            size = min(len(tokens) - len(one if place else none), left)
            pieces.append((word, size))
            left -= size
        return pieces

    def mask(self, inputs: Any) -> npt.NDArray[np.bool_]:
        """Boolean array `(texts, time)`, True where the result of `encode` is not padding."""
        return np.asarray(inputs["padding_mask"], bool)

    def batches(self, parts: Parts, options: Options) -> dict[str, Any]:
        """The batches for `fit` and `predict` of every part of the data."""
        inputs = self._inputs(parts)
        sizes = [kept_lengths(each["padding_mask"]) for each in inputs.values()]
        boundaries = length_buckets(np.concatenate(sizes), LENGTHS)
        rows = {name: _kept_rows(each) for name, each in inputs.items()}
        make: Callable[..., Any] = SequenceBatches
        if not self.fine_tune:
            some = inputs["train"]
            kept = np.asarray(some["features"][:256], np.float32)[some["padding_mask"][:256]]
            self.scale = float(1 / max(kept.std(), 1e-6))
            make = functools.partial(_ScaledBatches, self.scale)
        return _batches(make, rows, parts, options, boundaries)

    def vectors(self, texts: Sequence[str], options: Options) -> None:
        """Returns `None`, because a language model has embeddings of its own."""

    def means(self, parts: Parts) -> list[npt.NDArray[np.float32]]:
        """Returns every text's mean state, `(texts, features)`, for each part of the data."""
        return [
            np.stack([rows.mean(axis=0, dtype=np.float32) for rows in _kept_rows(each)["features"]])
            for each in self._inputs(parts).values()
        ]

    def _inputs(self, parts: Parts) -> dict[str, Any]:
        """The features of all parts. All networks of a run use the same features."""
        folder = cache_folder() / "features"
        for name, part in parts.items():
            if name not in self._features:
                print(f"Features of {len(part)} {name} texts, kept in {folder} ...", flush=True)
                self._features[name] = self.language_model.features(
                    _spaced(part.texts), cache=folder, verbose=1
                )
        return self._features


class Tokens(Features):
    """The tokens of a language model that is trained together with the other layers."""

    kind = "tokens"
    fine_tune = True

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a model builder that describe its inputs."""
        # Every network gets its own backbone, so training one network does not change the next.
        fresh = text.LanguageModel.from_preset(self.preset, self.max_length, layer=self.layer)
        return {"vocabulary_size": None, "backbone": fresh.backbone}

    def encode(self, texts: Sequence[str]) -> Any:
        """The inputs of a model."""
        inputs = self.language_model.encode(_spaced(texts), trim=True)
        longest = inputs["padding_mask"].shape[1]
        width = _rounded(longest, TOKEN_STEP, self.max_length) - longest
        return {name: np.pad(array, ((0, 0), (0, width))) for name, array in inputs.items()}

    def _inputs(self, parts: Parts) -> dict[str, Any]:
        """The tokens of all parts."""
        return {
            name: self.language_model.encode(_spaced(part.texts), trim=True)
            for name, part in parts.items()
        }


class _ScaledBatches(SequenceBatches):
    """Serves batches of states, multiplied by a number."""

    def __init__(self, scale: float, *args: Any, **kwargs: Any) -> None:
        self._scale = np.float32(scale)
        super().__init__(*args, **kwargs)

    def inputs_of(self, rows: npt.NDArray[np.int64]) -> Any:
        inputs = super().inputs_of(rows)
        return inputs | {"features": inputs["features"] * self._scale}


def _batches(
    make: Callable[..., Any], inputs: dict[str, Any], parts: Parts, options: Options, sizes: Any
) -> dict[str, Any]:
    """Makes the batches of every part. `sizes` are boundaries of lengths, or their number."""
    return {
        name: make(
            inputs[name],
            part.labels,
            options.batch_size,
            sizes,
            shuffle=name == "train",
            seed=options.seed,
            sample_weight=_weights(part, options),
        )
        for name, part in parts.items()
    }


def _rounded(size: int, step: int, limit: int) -> int:
    """Rounds up to a multiple of a step, at most to the limit."""
    return max(size, min(-(-size // step) * step, limit))


def _kept_rows(inputs: dict[str, Any]) -> dict[str, list[Any]]:
    """The rows of padded inputs up to the last kept step. Data on disk are not loaded."""
    lengths = kept_lengths(np.asarray(inputs["padding_mask"], bool)).tolist()
    return {
        name: [row[:end] for row, end in zip(array, lengths, strict=True)]
        for name, array in inputs.items()
    }


def _spaced(texts: Sequence[str]) -> list[str]:
    """Replaces U+00A0 and similar characters, which KerasHub treats as letters, by spaces."""
    return [" ".join(content.split()) for content in texts]


def _told_cut(share: float, *limits: str) -> str:
    """Writes a sentence on the share of texts that are cut, and on the options that help."""
    shown = f"{share:.0%}" if share >= 0.005 else "under 1%"
    return f" ({shown} of the texts are cut: {', '.join(map(flag, limits))})" if share else ""


def _weights(part: LabeledTexts, options: Options) -> npt.NDArray[np.float32] | None:
    """Computes the texts' weights for --class-weights. The weights of each class have the same sum,
    and the mean of all weights is 1. So the weighted accuracy of a part is the balanced accuracy.
    """
    if not options.class_weights:
        return None
    counts = np.bincount(part.labels, minlength=part.num_classes)
    return (len(part) / (np.count_nonzero(counts) * counts[part.labels])).astype(np.float32)


Reader = Words | Features
READERS: dict[str, type[Any]] = {each.kind: each for each in (Words, Features, Tokens)}


def learn(texts: Sequence[str], options: Options, asked: networks.Encoder) -> Reader:
    """Makes the reader that an encoder needs, for these training texts.

    Raises:
        CommandError: If the texts or the language model cannot be read.
    """
    kind = Features.kind if asked.is_frozen else asked.reads
    with reported():
        reader: Reader = READERS[kind].learn(texts, options, asked)
    return reader


def load(run: Path, config: dict[str, Any]) -> Reader:
    """The reader of a run.

    Raises:
        CommandError: If the run does not name its reader, or the reader's files cannot be read.
    """
    settings: Any = config.get("reader")
    kind = settings.get("kind") if isinstance(settings, dict) else None
    if not isinstance(kind, str) or kind not in READERS:
        raise CommandError(
            f"{run / 'config.json'} is damaged: it reads {reprlib.repr(kind)}, not {list(READERS)}"
        )
    length = settings.get("max_length")
    if type(length) is not int or not 1 <= length < 2**31:
        raise CommandError(
            f"{run / 'config.json'} is damaged: max_length is {reprlib.repr(length)}"
        )
    with reported():
        try:
            reader: Reader = READERS[kind].load(run, settings)
        except (KeyError, TypeError) as error:
            raise CommandError(f"{run / 'config.json'} is damaged: reader, {error!r}") from None
    return reader
