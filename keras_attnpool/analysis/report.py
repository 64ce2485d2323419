"""Tests a model's attention as the literature does, and writes tables and a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._graph import layers_by_path
from keras_attnpool.analysis._inputs import Inputs
from keras_attnpool.analysis._report_page import write_report
from keras_attnpool.analysis._token_rows import checked_names
from keras_attnpool.analysis.attention_tests import AttentionTests
from keras_attnpool.analysis.erasure import leave_one_out
from keras_attnpool.analysis.grading import grade_attributions
from keras_attnpool.analysis.saliency import gradient_saliency
from keras_attnpool.analysis.score_table import ScoreTable
from keras_attnpool.analysis.scores import wanted_layers
from keras_attnpool.types import Float32s, PathLike

OWNER = "attention_report"


class AttentionReport(NamedTuple):
    """The result of `attention_report`.

    Attributes:
        grades: `ScoreTable` of `grade_attributions` for the attention, leave-one-out and gradient x
            input of the same model.
        tests: `ScoreTable` with one row per test, see `attention_report`.
        weights: float32 array `(texts, time)`, the tested weights.
        path: The path of the HTML page, or `None` if no page was written.

    Example:

    >>> from keras_attnpool.analysis import AttentionReport, ScoreTable
    >>> report = AttentionReport(ScoreTable({}), ScoreTable({"uniform": {"tau": 0.1}}), None, None)
    >>> report.tests["uniform"]["tau"]
    0.1
    """

    grades: ScoreTable
    tests: ScoreTable
    weights: Float32s
    path: Path | None


def attention_report(
    model: keras.Model,
    inputs: Any,
    labels: Any = None,
    *,
    layer: Any = None,
    layout: str | None = None,
    embedding: Any = None,
    others: Sequence[keras.Model] = (),
    names: Sequence[Sequence[Any]] | None = None,
    mask: Any = None,
    baseline: Any = "masked",
    rationales: Sequence[Any] | None = None,
    beam_size: int | None = 1,
    path: PathLike | None = None,
    title: str = "Can this attention be believed?",
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 1,
) -> AttentionReport:
    """Tests the attention weights of one layer as the literature does.

    The first table has the grades of `grade_attributions`. The second table has one row per test:

    | row | change | meaning |
    |---|---|---|
    | `uniform weights` | the layer uses equal weights | same classes: weights are not needed |
    | `shuffled weights` | the weights move to other tokens | same classes: weights do not matter |
    | `weights of other 1` ... | the layer uses the weights of `others[0]` | see below |
    | `other 1` ... | the whole model is `others[0]` | low tau: weights depend on the seed |
    | `random pooling` | the layer's variables are shuffled | high tau: weights are not learned |
    | `random encoder` | the variables of all earlier layers are shuffled | high tau: as above |
    | `random both` | both groups of variables are shuffled | high tau: as above |

    If other weights give the same classes, the other weights explain the same prediction in another
    way. The columns compare each test with the unchanged attention. `tau` is Kendall's tau.
    `overlap` takes the smaller of each token's two weights, and adds up these smaller weights.
    `same class` is the share of texts whose predicted class stays the same. `change` is half the
    sum of the probabilities' absolute changes. If `labels` are given, there are two more columns,
    `accuracy` and `guided accuracy`. `guided accuracy` is the held-out accuracy of a small model
    that averages word vectors by the frozen weights of the row. If this accuracy is higher than
    with uniform weights, another model can use the weights.

    Weights can be replaced only if the layer's output is the weighted sum of its inputs. For other
    layers, rows with replaced weights have no predictions. A test that shuffles variables has no
    row if the model has no such variables.

    Cost: as for `grade_attributions`, plus about ten predictions of all texts. With `labels`, each
    row trains a small model for ten epochs.

    Args:
        model: A classifier, `(batch, classes)`, or `(batch, 1)` for two classes.
        inputs: Inputs of `model.predict`: ids `(rows, time)`, where 0 is padding; vectors `(rows,
            time, dim)`; a list or dict of these, with or without a mask; or batches (a `PyDataset`,
            `tf.data.Dataset` or `DataLoader`). A list of sequences of unequal length is padded, and
            gets a mask if the model takes a mask. If there are several inputs, the first input that
            is not a mask has the steps.
        labels: `None`, or integer array `(texts,)`. If labels are given, use texts that the model
            was not trained on.
        layer: The attention layer, its name or its path, see `attention_scores`. `layer` is
            required if the model has several attention layers.
        layout: The layout of the layer's scores, see `reduce_scores`. Layers of other packages need
            `layout` if the shape of the scores does not show the layout.
        embedding: The embedding layer that `gradient_saliency` uses. `embedding` is required if the
            model has several embedding layers.
        others: Models of the same architecture that were trained with other seeds. The path of the
            attention layer must be the same.
        names: One list per row, with one name per step that counts: words, file names, seconds. The
            heat maps of the page show these names. Defaults to the steps' numbers.
        mask: `None`, or an array `(rows, time)` of booleans, or of 0 and 1. True means that the
            step counts. With `None` the mask comes from the model's inputs, from a `Masking` layer,
            from the ids that are not 0, or from the lengths of unequal rows.
        baseline: The replacement of a removed step: `"zeros"`, `"mean"` (of all steps that count),
            a vector, or an id, such as the id of the unknown token. `"masked"` masks the step
            instead, or writes id 0 if the model reads ids without a mask.
        rationales: `None`, or one array per text, of booleans or of 0 and 1. True means that the
            token belongs to the rationale. An array has one value per token, or one per step of the
            inputs.
        beam_size: Beam size of the search for bounds, see `grade_attributions`. 0 leaves the bounds
            out.
        path: Path of an HTML page to write. The page has tables and heat maps, and pictures if the
            extra `plots` is installed. The page loads nothing.
        title: The page's title.
        seed: Seed of the shuffles, and of the order of equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.
        verbose: 1 shows a progress bar over the texts, 0 shows nothing.

    Returns:
        `AttentionReport`. The model is not changed.

    Raises:
        ValueError: If the model has no attention layer, if it has several and `layer` is not given,
            if the layer's scores are not a single array, or if shapes do not fit.

    Example:

    ```python
    import numpy as np
    from keras_attnpool import analysis, models

    model, other = (models.SAN(100, 2, num_heads=2, embedding_dim=8) for _ in range(2))
    ids = np.array([[4, 8, 15, 16], [23, 42, 0, 0]])
    report = analysis.attention_report(model, ids, others=[other], verbose=0)
    assert "uniform weights" in report.tests and "attention" in report.grades
    ```

    Reference:
        - Jain and Wallace, 2019, Attention is not Explanation
        - Wiegreffe and Pinter, 2019, Attention is not not Explanation
        - Adebayo et al., 2018, Sanity Checks for Saliency Maps
    """
    read = Inputs(model, inputs, OWNER, batch_size, mask)
    inputs, kept = read.form(read.leaves), read.mask
    if kept.ndim != 2:
        must, received = "have one axis of steps", f"shape {read.values.shape}"
        raise ArgumentError("inputs", must, received, OWNER)
    if isinstance(others, keras.Model):
        must, received = "be a list of models", "one model"
        raise ArgumentError("others", must, received, OWNER)
    if path is not None and not Path(path).parent.is_dir():
        must, received = "be in a folder that exists", f"{path}"
        raise ArgumentError("path", must, received, OWNER)
    names = checked_names(names, kept, OWNER)
    tests = AttentionTests(
        model,
        inputs,
        kept,
        _only_path(model, layer),
        OWNER,
        layout=layout,
        labels=labels,
        steps=read.values,
        from_logits=from_logits,
        batch_size=batch_size,
    )
    options: dict[str, Any] = {"mask": kept, "from_logits": from_logits, "batch_size": batch_size}
    effects = leave_one_out(model, inputs, baseline=baseline, **options)
    slopes = gradient_saliency(model, inputs, layer=embedding, **options)
    grades = grade_attributions(
        model,
        inputs,
        {"attention": tests.weights, "leave-one-out": effects, "gradient": slopes},
        rationales,
        baseline=baseline,
        beam_size=beam_size,
        seed=seed,
        layer=embedding,
        verbose=verbose,
        **options,
    )
    table = tests.table(others, seed)
    if path is not None:
        drawn = {"attention": tests.weights, "leave-one-out": effects}
        path = write_report(path, title, grades, table, names, drawn, kept)
    return AttentionReport(grades, table, tests.weights, path)


def _only_path(model: keras.Model, layer: Any) -> str:
    paths = wanted_layers(model, layers_by_path(model, OWNER), layer, OWNER)
    if len(paths) != 1:
        must = f"be the one attention layer to test, one of {sorted(paths)}"
        raise ArgumentError("layer", must, {"layer": layer}, OWNER)
    return next(iter(paths))
