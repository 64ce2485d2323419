"""Every argument of every layer, regularizer and model gets what it cannot use.

It is refused at once, by a ValueError that names the class and the argument; or it is among the few
odd values that have a meaning there.
"""

import gc
import inspect
import warnings

import catalogue
import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_attnpool import layers, models, regularizers


class Odd:
    """No Keras object, and nothing else either."""


ODD_VALUES = {
    repr(value): value
    for value in (
        *(None, True, float("nan"), float("inf"), -float("inf"), -1, 0, 0.5, 2.5, -0.5, 10**30),
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
    assert isinstance(error, ValueError | TypeError), (name, value, repr(error))
    assert name in str(error) and cls_name in str(error), (name, value, str(error))
    return False


# What may be of several kinds: where a value can be neither a slip nor a mistake.
FLAGS = {"use_bias", "flatten", "pooled", "bidirectional", "parallel", "layer_norm", "scalar"}
FLAGS |= {"value_conv", "multi_dim", "rescale_scores", "learn_scale", "l2_normalize", "use_hidden"}
FLAGS |= {"unit_forget_bias", "batch_mean", "normalize"}
SIZES = {"num_heads", "hidden_dim", "units", "filters", "max_length", "num_characters", "rank"}
SIZES |= {"num_layers", "kernel_size", "reduction", "char_dim", "block_size", "chunk_size"}


@pytest.mark.parametrize("cls_name", CLASSES)
def test_layers_and_regularizers_refuse_what_they_cannot_use(cls_name):
    cls = CLASSES[cls_name]
    names, base = arguments(cls)
    for name in names:
        taken = {
            key for key, value in ODD_VALUES.items() if check(cls_name, cls, name, value, base)
        }
        if name in FLAGS:
            assert taken == {"True", repr(np.bool_(True))}, (name, taken)
        elif name in SIZES:
            assert taken <= {"None", repr(np.int64(3))}, (name, taken)
        elif name == "dropout":
            assert taken == {"0", "0.5", repr(np.float32(0.5))}, (name, taken)
        elif name == "seed":
            assert taken == {"None", "0", repr(np.int64(3))}, (name, taken)
        elif name.endswith(("regularizer", "constraint")):
            assert taken == {"None"}, (name, taken)


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


IMPOSSIBLE = [None, True, float("nan"), float("inf"), -1, 2.5, 10**30, "x", [], {}, 1j, Odd()]
IMPOSSIBLE += [np.array([1, 2])]


@pytest.mark.parametrize("name", BUILDERS)
def test_models_refuse_impossible_sizes_and_shares(name):
    build, base = bound(name)
    parameters = inspect.signature(build).parameters
    sizes = {"vocabulary_size", "num_classes", "embedding_dim", "hidden_units"} & set(parameters)
    shares = {"dropout", "embedding_dropout"} & set(parameters)
    tried = 0
    for argument in sorted(sizes | shares):
        for value in IMPOSSIBLE:
            optional = parameters[argument].default is None or argument == "hidden_units"
            if value is None and optional:
                continue
            error = outcome(build, argument, value, base)
            # Keras calls the share of a Dropout layer `rate`, a layer of ours its size `units`.
            named = (argument, "`rate`", "`units`", "`dropout`", "hidden_dim")
            assert isinstance(error, ValueError), (argument, value, repr(error))
            assert any(n in str(error) for n in named), (argument, value, str(error))
            tried += 1
    assert tried > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDERS)
def test_every_argument_of_a_model(name):
    build, base = bound(name)
    for argument in inspect.signature(build).parameters:
        for key, value in ODD_VALUES.items():
            error = outcome(build, argument, value, base)
            assert error is None or isinstance(error, ValueError | TypeError), (
                argument,
                key,
                repr(error),
            )
        # Models hold themselves in circles, and Keras their names.
        keras.utils.clear_session(free_memory=False)
        gc.collect()
