"""What all builders promise, beside what each is made of."""

import catalogue
import keras
import numpy as np
import pytest
from backend_functions import everywhere, gradients, numpy, predict

pytestmark = pytest.mark.every_backend

BUILDERS = [*catalogue.MODELS, *catalogue.HIERARCHICAL, *catalogue.PAIRS]


@pytest.mark.one_backend("each layer's contract holds it under every backend")
@pytest.mark.parametrize("name", BUILDERS)
def test_what_the_embeddings_hold_for_padding_is_not_seen(name):
    """NaN in row 0 changes no score and reaches no gradient."""
    case = catalogue.CASES[name]
    model = catalogue.randomized(case.model())
    target = numpy(model(case.fed))
    tables = [
        weight
        for weight in model.weights
        if weight.path.endswith("embeddings") and "positions" not in weight.path
    ]
    for table in tables:
        table.assign(np.vstack([np.full((1, table.shape[1]), np.nan), numpy(table)[1:]]))
    np.testing.assert_allclose(numpy(model(case.fed)), target, atol=1e-6)
    _, slopes = gradients(
        model, np.ones(1, "float32"), lambda one: keras.ops.sum(model(case.fed) * one)
    )
    assert tables and slopes
    for path, gradient in slopes.items():
        assert np.isfinite(numpy(gradient)).all(), path


@pytest.mark.parametrize(
    "name",
    everywhere(
        BUILDERS,
        *("LAMA", "GeneralizedPoolingClassifier", "MPSAN", "BiBloSAN", "SAM", "HCAN"),
        reason="a model of each paper runs everywhere",
    ),
)
def test_a_batch_without_rows(name):
    case = catalogue.CASES[name]
    model = case.model()
    none = [x[:0] for x in case.inputs]
    assert predict(model, none if len(none) > 1 else none[0]).shape == (0, *model.output_shape[1:])


@pytest.mark.parametrize(
    "name",
    everywhere(
        BUILDERS,
        *("BiBloSAN", "HCAN", "MultiHeadSAN", "TransformerEncoderClassifier"),
        reason="each layer's contract holds it; these have positions or blocks",
    ),
)
def test_padding_on_either_side_changes_nothing(name):
    """Of texts with a hole in the middle; also beyond the Transformer's nine positions."""
    case = catalogue.CASES[name]
    model = catalogue.randomized(case.model())
    found = []
    for sides in ((0, 0), (0, 6), (6, 0), (2, 4)):
        texts = [
            np.pad(np.where(np.arange(x.shape[-1]) == 1, 0, x), ((0, 0), *[sides] * (x.ndim - 1)))
            for x in case.inputs
        ]
        fed = texts if len(texts) > 1 else texts[0]
        _, slopes = gradients(
            model, np.ones(1, "float32"), lambda one, fed=fed: keras.ops.sum(model(fed)[:, 0] * one)
        )
        found.append([numpy(model(fed)), *map(numpy, slopes.values())])
    # Rounding, of the largest number that a gradient sums.
    atol = 1e-5 * max(1, *(np.abs(value).max(initial=0) for value in found[0]))
    for padded in found[1:]:
        np.testing.assert_allclose(padded[0], found[0][0], atol=1e-5)
        for value, target in zip(padded, found[0], strict=True):
            np.testing.assert_allclose(value, target, atol=atol)
