"""Every argument of every layer, regularizer and model gets what it cannot use.

It is refused at once, by a ValueError that names the class and the argument; or it is among the few
odd values that have a meaning there.
"""

import gc
import inspect
import re
import typing
import warnings

import catalogue
import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from keras_attnpool import ArgumentError, _checks, layers, models, regularizers

pytestmark = pytest.mark.every_backend


class Odd:
    """No Keras object, and nothing else either."""


ODD_VALUES = {
    repr(value): value
    for value in (
        *(
            None,
            True,
            float("nan"),
            float("inf"),
            -float("inf"),
            -1,
            0,
            0.5,
            1.0,
            2.5,
            -0.5,
            10**30,
        ),
        *("x", "", b"x", "\ud800", "\0", [], [1], ["x"], {}, {"a": 1}, (), (0,), (-1,), (2.5,)),
        *((True,), (None,), ("x",), range(3), 1j, np.int64(3), np.int64(-3), np.float32(0.5)),
        *(np.float64("nan"), np.bool_(True), np.array([1, 2]), np.array(3)),
    )
} | {"object": Odd(), "class": Odd}

# What the required arguments are otherwise.
REQUIRED = {"num_heads": 2, "hidden_dim": 4, "units": 4, "filters": 4, "max_length": 7}
REQUIRED |= {"num_characters": 9}


def public(module, kind):
    return {
        name: getattr(module, name)
        for name in sorted(dir(module))
        if kind(getattr(module, name)) and not name.startswith("_")
    }


CLASSES = {
    **public(layers, inspect.isclass),
    **{n: c for n, c in public(regularizers, inspect.isclass).items() if n[0].isupper()},
}
CLASSES = {
    name: cls
    for name, cls in CLASSES.items()
    if cls.__module__.startswith("keras_attnpool") and not inspect.isabstract(cls)
}


def arguments(function):
    """Names of the arguments, and values of the required ones."""
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    base = {p.name: REQUIRED.get(p.name) for p in named if p.default is p.empty}
    if "encoder" in base:
        base["encoder"] = layers.CharacterEmbedding(9, char_dim=2, filters=2, kernel_sizes=(1,))
    return [p.name for p in named], base


def outcome(build, name, value, base):
    """Whether the value is taken; the error otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            build(**{**base, name: value})
        except Exception as error:
            return error
    return None


def check(cls_name, build, name, value, base):
    error = outcome(build, name, value, base)
    if error is None:
        return True
    assert isinstance(error, ArgumentError), (name, value, repr(error))
    # Of two that do not fit each other, either is named, and both are shown.
    assert error.owner == cls_name and name in (error.name, *error.received), (value, error)
    return False


THREE, HALF, SIZE = repr(np.int64(3)), repr(np.float32(0.5)), {repr(np.int64(3))}
FLAG, POSITIVE = {"True", repr(np.bool_(True))}, {"0.5", "1.0", "2.5", HALF, THREE, repr(10**30)}
SHARE = {"0", "0.5", HALF}
# The odd values that fit an argument, by its name; all others are refused. What has no line here
# takes those of its kind: a new argument need not be listed.
OF_KIND = {
    _checks.SIZE: SIZE,
    _checks.FLAG: FLAG,
    _checks.SHARE: SHARE,
    _checks.UNIT: SHARE | {"1.0"},
    _checks.POSITIVE: POSITIVE,
    _checks.NOT_NEGATIVE: POSITIVE | {"0"},
}
FITTING = {
    r"(max|sequence|block)_length|max_(words|sentences)|(kernel|chunk)_size|vocabulary_size": SIZE,
    r"num_(heads|layers|classes|characters|queries)|units|(gru|lstm|hidden)_units": SIZE,
    r"(embedding|key|hidden|char|feedforward)_dim|(char_)?filters": SIZE,
    r"rank|reduction|backbone": SIZE,
    r"packed": SIZE | {"0"},
    r"trainable_.*|use_(hidden|bias)|l2_normalize|learn_scale|per_feature|unit_forget_bias": FLAG,
    r"hierarchical|parallel|value_conv|rescale_scores|layer_norm|bidirectional": FLAG,
    r"flatten|pooled|keepdims|batch_mean|normalize(_first)?|gated|residual|position_weighted": FLAG,
    r"(.*_)?dropout": SHARE,
    r"threshold": SHARE | {"1.0"},
    r"scale|epsilon|p": POSITIVE,
    r"factor": POSITIVE | {"0", "-0.5", "-1", repr(np.int64(-3))},
    r"seed": {"0", THREE},
    r"(char_)?kernel_sizes": {"[1]"},
    r"positions|order|encoder": {"[]", "()"},
    r"pooling|context|fusion|mode|shortcut|merge_mode|direction|normalizer|embeddings": set(),
    r".*_(regularizer|constraint)|(.*_)?activation": set(),
    # Of the weight's shape, which is not known yet.
    r".*_initializer": {repr(np.array([1, 2]))},
    r"name": {"'x'", repr("\ud800"), repr("\0")},
}
# Where the name does not tell all.
FITTING_HERE = {
    ("SAM", "num_layers"): SIZE | {"0"},
    ("TransformerEncoderClassifier", "num_layers"): SIZE | {"0"},
    ("HeadDistance", "threshold"): POSITIVE | {"0"},
    ("SequentialAttention", "order"): set(),
    ("HierarchicalEncoder", "encoder"): set(),
}


def fitting(owner, parameter):
    """The keys of the odd values that fit the argument."""
    name = parameter.name
    lines = [keys for names, keys in FITTING.items() if re.fullmatch(names, name)]
    kind = _checks.known_by(name, parameter.annotation)
    lines = lines or [OF_KIND[kind]] * (kind in OF_KIND)
    assert len(lines) == 1, f"{name} of {owner} needs one line of FITTING, and has {len(lines)}"
    optional = {"None"} if type(None) in typing.get_args(parameter.annotation) else set()
    return FITTING_HERE.get((owner, name), lines[0]) | optional


# Before a layer is built no backend computes anything; `test_an_object_is_refused` looks whether
# the others refuse as well.
once = pytest.mark.one_backend("constructors compute nothing")


@pytest.mark.parametrize("cls_name", CLASSES)
def test_an_object_is_refused(cls_name):
    names, base = arguments(CLASSES[cls_name])
    for name in names:
        assert not check(cls_name, CLASSES[cls_name], name, ODD_VALUES["object"], base), name


@once
@pytest.mark.parametrize("cls_name", CLASSES)
def test_layers_and_regularizers_refuse_what_they_cannot_use(cls_name):
    cls = CLASSES[cls_name]
    names, base = arguments(cls)
    for name in names:
        fits = fitting(cls_name, inspect.signature(cls).parameters[name])
        accepted = {
            key for key, value in ODD_VALUES.items() if check(cls_name, cls, name, value, base)
        }
        # Keras has a default where a layer's initializer is None.
        fits = fits | {"None"} if name.endswith("_initializer") else fits
        assert accepted <= fits, (name, accepted, fits)
        # Heads may not divide the filters; without a hidden layer there is no gate.
        assert accepted == fits or SIZE <= fits or name == "gated", (name, accepted, fits)


def test_a_numpy_seed_is_a_seed():
    """Keras refuses NumPy integers; they come from generators of seeds."""
    first, second = (
        layers.LowRankAttentionPooling(2, seed=s, dropout=0.5) for s in (np.int64(3), 3)
    )
    assert first.get_config()["seed"] == second.get_config()["seed"] == 3
    for layer in (first, second):
        layer.build((None, None, 4))
    for a, b in zip(first.get_weights(), second.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=4)
    | st.binary(max_size=4)
    | st.sampled_from([np.float16("inf"), np.int8(-1), np.zeros((2, 2)), Odd(), len]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


@once
@settings(max_examples=40)
@given(data=st.data(), value=ANYTHING)
def test_anything_is_taken_or_refused(data, value):
    cls_name = data.draw(st.sampled_from(sorted(CLASSES)))
    names, base = arguments(CLASSES[cls_name])
    if names:
        check(cls_name, CLASSES[cls_name], data.draw(st.sampled_from(names)), value, base)


# -- models ----------------------------------------------------------------------------------------

BUILDERS = {**catalogue.MODELS, **catalogue.HIERARCHICAL, **catalogue.PAIRS}


def bound(name):
    """A builder and the arguments with which the catalogue calls it."""
    build, caught = getattr(models, name), {}

    def catch(*args, **kwargs):
        caught.update(inspect.signature(build).bind(*args, **kwargs).arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, name, catch)
        BUILDERS[name]()
    return build, caught


@once
@pytest.mark.parametrize("name", public(models, inspect.isfunction))
def test_models_refuse_what_they_cannot_use(name, monkeypatch):
    """At once: no model is begun, whatever the other arguments are."""
    build, base = bound(name)
    monkeypatch.setattr(keras, "Input", lambda *_, **__: pytest.fail("a model was begun"))
    for parameter in inspect.signature(build).parameters.values():
        fits = fitting(name, parameter)
        assert fits <= set(ODD_VALUES), parameter
        for key in set(ODD_VALUES) - fits:
            accepted = check(name, build, parameter.name, ODD_VALUES[key], base)
            assert not accepted, (parameter.name, key)


@once
def test_a_size_can_be_too_small_for_one_argument():
    for name, build in public(models, inspect.isfunction).items():
        _, base = bound(name)
        with refused("num_classes", name):
            build(**{**base, "num_classes": 1})


FIVE_STEPS = keras.Sequential([keras.Input((5, 8)), keras.layers.Dense(4)])


@once
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        # An argument is checked in the variants that have no use for it too.
        ("HCAN", {"hierarchical": "no"}, "True or False"),
        ("HCAN", {"max_sentences": 0, "hierarchical": False}, ">= 1"),
        ("BiLSTM", {"num_heads": 0, "pooling": "max"}, ">= 1"),
        ("BackboneClassifier", {"sequence_length": 0, "backbone": 8}, ">= 1"),
        # One width twice, one list for all attentions.
        ("TextCNN", {"kernel_sizes": (3, 3)}, "different"),
        ("TextCNN", {"kernel_sizes": 3}, "a list"),
        ("MPSAN", {"positions": ("later",)}, "a list of lists"),
        ("MPSAN", {"positions": [["earlier", "later"]]}, "some pair"),
        ("SAM", {"order": ("token", "token")}, "each once"),
        ("LAMA", {"name": "a/b"}, "no '/'"),
        ("BackboneClassifier", {"encoder": layers.AttentionPooling()}, "sequences"),
        ("SAM", {"sequence_length": 7, "backbone": FIVE_STEPS}, " 5."),
        # A class where an instance is meant.
        ("BiGRU", {"classifier_activation": keras.layers.Softmax}, "keras.activations"),
        ("BackboneClassifier", {"pooling": layers.AttentionPooling}, "class name"),
        # What a layer inside calls otherwise, and what a builder inside has as well.
        ("GeneralizedPoolingClassifier", {"attention_dropout": 2}, "[0, 1)"),
        ("LAMA", {"gru_units": -1}, "None or an integer >= 1"),
        ("LAMAEncoder", {"embeddings": np.zeros((19, 4))}, "(19, 4)"),
        ("HCAN", {"filters": 7}, "a multiple of the heads"),
    ],
)
def test_errors_name_the_builder_and_the_argument_as_typed(name, arguments, told):
    build, base = bound(name)
    with refused(next(iter(arguments)), name, told):
        build(**{**base, **arguments})
    with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected keyword argument 'unit'"):
        build(**base, unit=3)


@once
@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDERS)
def test_models_take_what_fits(name):
    """Or refuse it beside the other arguments, such as a vocabulary beside a backbone."""
    build, base = bound(name)
    for parameter in inspect.signature(build).parameters.values():
        for key in fitting(name, parameter):
            check(name, build, parameter.name, ODD_VALUES[key], base)
        # Models hold themselves in circles, and Keras their names.
        keras.utils.clear_session(free_memory=False)
        gc.collect()
