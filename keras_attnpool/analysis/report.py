"""What a model's attention is worth: the tests of the literature, in one table and one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_attnpool.analysis._documented import CLASSIFIER, documented
from keras_attnpool.analysis._graph import layers_by_path
from keras_attnpool.analysis._guided import guided_accuracy
from keras_attnpool.analysis._probabilities import class_probabilities
from keras_attnpool.analysis._randomizing import shuffled, weights_around
from keras_attnpool.analysis._removal import checked_ids
from keras_attnpool.analysis._report_page import write_report
from keras_attnpool.analysis._reweighting import Reweighting
from keras_attnpool.analysis._token_rows import checked_classes, checked_tokens
from keras_attnpool.analysis.erasure import leave_one_out
from keras_attnpool.analysis.grading import grade_attributions
from keras_attnpool.analysis.reduction import LAYOUTS, reduce_scores
from keras_attnpool.analysis.saliency import gradient_saliency
from keras_attnpool.analysis.score_table import ScoreTable, mean_of
from keras_attnpool.analysis.scores import attention_model, wanted_layers
from keras_attnpool.analysis.weight_measures import kendall_tau
from keras_attnpool.types import Array, Bools, Float32s, Float64s, PathLike

OWNER = "attention_report"


class AttentionReport(NamedTuple):
    """What `attention_report` returns.

    Attributes:
        grades: `ScoreTable` of `grade_attributions`: attention beside leave-one-out and gradient x
            input of the same model.
        tests: `ScoreTable` with a row for each test, see `attention_report`.
        weights: float32 array `(texts, time)`, the weights that were tested.
        path: The page, or `None` if none was asked for.

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


@documented(CLASSIFIER)
def attention_report(
    model: keras.Model,
    ids: Any,
    labels: Any = None,
    *,
    layer: Any = None,
    layout: str | None = None,
    others: Sequence[keras.Model] = (),
    tokens: Sequence[Sequence[str]] | None = None,
    rationales: Sequence[Any] | None = None,
    beam_size: int | None = 1,
    path: PathLike | None = None,
    title: str = "Can this attention be believed?",
    seed: int = 0,
    from_logits: bool = False,
    batch_size: int = 32,
    verbose: int = 1,
) -> AttentionReport:
    """Puts the attention weights of one layer to the tests of the literature.

    The grades are those of `grade_attributions`. The tests are rows of a second table:

    | row | what is changed | what it tells |
    |---|---|---|
    | `uniform weights` | the layer uses equal weights | the same classes: not needed |
    | `shuffled weights` | its own, dealt out to other tokens | the same classes: it hangs on none |
    | `weights of other 1` ... | those of `others[0]`, from another seed | see below |
    | `other 1` ... | the whole model is `others[0]` | a low tau: the seed chose the weights |
    | `random pooling` | the layer's weights are shuffled | a high tau: not what it learned |
    | `random encoder` | those of all layers in front of it | the same |
    | `random both` | both | the same |

    Other weights that give the same classes are another explanation of the same prediction. The
    columns: `tau`, Kendall's with the attention as it is; `overlap`, the weight that both share;
    `same class`, the share of texts whose predicted class stays; `change`, half of the sum of
    absolute changes of the probabilities; with `labels` also `accuracy`, and `guided accuracy`,
    that of a bag of words on held-out texts whose mean is weighted by these weights, frozen. It is
    above that of uniform weights where the weights tell what another model can use.

    Weights can be changed where the layer's output is the weighted sum of its inputs. Of other
    layers these rows hold no predictions.

    Cost: that of `grade_attributions` and about ten predictions of all texts; with `labels`, ten
    epochs of a small model for each row.

    Args:
        model: A functional or built Sequential classifier with one input of ids.
        labels: `None`, or integer array `(texts,)`. Texts that the model was not trained on.
        layer: The attention layer, its name or path, see `attention_scores`. Needed if the model
            has several.
        layout: The layout of its scores, see `reduce_scores`. Needed for weights a feature or a
            query.
        others: Models of the same kind from other seeds, with a layer of the same path.
        tokens: `None`, or one list of strings per text, for the heat maps of the page.
        beam_size: Of the search of bounds, see `grade_attributions`; 0 leaves the bounds out.
        path: Where to write an HTML page of tables, heat maps and, with the extra `plots`,
            pictures. It loads nothing.
        title: The page's title.
        seed: Seed of what is shuffled, and of the order of equal weights.

    Returns:
        `AttentionReport`. The model comes out as it went in.

    Raises:
        ValueError: If the model has no such layer or several, its scores are no single array, or
            shapes do not fit.

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
    ids = checked_ids(ids, batch_size, OWNER)
    if path is not None and not Path(path).parent.is_dir():
        raise ValueError(f"{OWNER} expects `path` in a folder that exists. Received: {path}")
    if tokens is not None:
        tokens = _checked_words(tokens, ids)
    at = _only_path(model, layer)
    shown = attention_model(model, at)
    weights, predictions, layout = _attention(shown, ids, layout, batch_size)
    tests = _Tests(ids, weights, predictions, labels, from_logits)
    effects = leave_one_out(model, ids, from_logits=from_logits, batch_size=batch_size)
    slopes = gradient_saliency(model, ids, from_logits=from_logits, batch_size=batch_size)
    grades = grade_attributions(
        model,
        ids,
        {"attention": weights, "leave-one-out": effects, "gradient": slopes},
        rationales,
        beam_size=beam_size,
        seed=seed,
        from_logits=from_logits,
        batch_size=batch_size,
        verbose=verbose,
    )
    tests.add("as it is", weights, predictions)
    rng = np.random.default_rng(seed)
    swap = Reweighting(model, at, layout, ids, batch_size)

    def reweighted(name: str, given: Array) -> None:
        tests.add(name, given, swap.predict(given) if swap.possible else None)

    mask = ids != 0
    reweighted("uniform weights", mask / np.maximum(mask.sum(axis=1, keepdims=True), 1))
    reweighted("shuffled weights", _dealt_out(weights, mask, rng))
    for number, other in enumerate(others, 1):
        theirs, answers, _ = _attention(attention_model(other, at), ids, layout, batch_size)
        reweighted(f"weights of other {number}", theirs)
        tests.add(f"other {number}", theirs, answers)
    pooling, encoder = weights_around(model, at, OWNER)
    both = pooling + encoder
    for name, disordered in (("pooling", pooling), ("encoder", encoder), ("both", both)):
        with shuffled(disordered, rng):
            theirs, answers, _ = _attention(shown, ids, layout, batch_size)
        tests.add(f"random {name}", theirs, answers)
    table = ScoreTable(tests.rows, tests.per_text)
    if path is not None:
        drawn = {"attention": weights, "leave-one-out": effects}
        path = write_report(path, title, grades, table, tokens, drawn, ids)
    return AttentionReport(grades, table, weights, path)


class _Tests:
    """The rows of the table of tests, each against the attention as it is."""

    def __init__(
        self, ids: Array, weights: Array, predictions: Array, labels: Any, from_logits: bool
    ) -> None:
        self.ids, self.weights, self.from_logits = ids, weights, from_logits
        self.mask = ids != 0
        self.before = class_probabilities(predictions, from_logits, OWNER)
        self.labels = labels
        if labels is not None:
            classes = self.before.shape[1]
            if len(ids) < 2:
                raise ValueError(f"{OWNER} expects `labels` of two texts or more. Received: one")
            self.labels = checked_classes(labels, len(ids), classes, OWNER, "labels")
        self.rows: dict[str, dict[str, float]] = {}
        self.per_text: dict[str, dict[str, Float64s]] = {}

    def add(self, name: str, weights: Array, predictions: Any) -> None:
        columns: dict[str, Float64s] = {
            "tau": kendall_tau(weights, self.weights, self.mask),
            "overlap": np.minimum(_scaled(weights), _scaled(self.weights)).sum(axis=1),
        }
        if predictions is not None:
            after = class_probabilities(predictions, self.from_logits, OWNER)
            classes = after.argmax(axis=1)
            columns["same class"] = (classes == self.before.argmax(axis=1)).astype(np.float64)
            columns["change"] = np.abs(after - self.before).sum(axis=1) / 2
            if self.labels is not None:
                columns["accuracy"] = (classes == self.labels).astype(np.float64)
        # A text without a token says nothing of attention, as in the grades.
        used = self.mask.any(axis=1)
        columns = {column: np.where(used, values, np.nan) for column, values in columns.items()}
        self.per_text[name] = columns
        self.rows[name] = {column: mean_of(values) for column, values in columns.items()}
        if self.labels is not None:
            self.rows[name]["guided accuracy"] = guided_accuracy(
                self.ids, _scaled(weights), self.labels, self.before.shape[1]
            )


def _scaled(weights: Array) -> Float64s:
    """Weights whose sum is 1, or 0 for a text without weight."""
    total = weights.sum(axis=1, keepdims=True, dtype=np.float64)
    return np.asarray(weights / np.where(total == 0, 1, total))


def _dealt_out(weights: Array, mask: Bools, rng: np.random.Generator) -> Array:
    """The weights of each text, given to its tokens in another order."""
    dealt = weights.copy()
    for row, kept in zip(dealt, mask, strict=True):
        row[kept] = rng.permutation(row[kept])
    return dealt


def _only_path(model: keras.Model, layer: Any) -> str:
    paths = wanted_layers(model, layers_by_path(model, OWNER), layer)
    if len(paths) != 1:
        raise ValueError(
            f"{OWNER} tests one attention layer: give `layer`, one of {sorted(paths)}. Received: "
            f"layer={layer!r}"
        )
    return next(iter(paths))


def _attention(
    shown: keras.Model, ids: Array, layout: str | None, batch_size: int
) -> tuple[Float32s, Array, str]:
    """The weights, one a token, the predictions and the layout of the scores."""
    predictions, by_path = shown.predict(ids, batch_size=batch_size, verbose=0)
    (path,) = by_path
    scores = by_path[path][0] if len(by_path[path]) == 1 else by_path[path]
    if not isinstance(scores, np.ndarray):
        raise ValueError(
            f"{OWNER} expects a layer with one array of scores, called once. Received: layer "
            f"'{path}' with a {type(scores).__name__}"
        )
    layout = layout or LAYOUTS.get(scores.ndim, "")
    return reduce_scores(scores, layout=layout or None, mask=ids != 0), predictions, layout


def _checked_words(tokens: Any, ids: Array) -> list[list[str]]:
    words = checked_tokens(tokens, OWNER)
    sizes = (ids != 0).sum(axis=1).tolist()
    if [len(row) for row in words] != sizes:
        raise ValueError(
            f"{OWNER} expects `tokens` with one string for each id that is not 0. Received: "
            f"{len(words)} texts of other lengths than the {len(ids)} of `ids`"
        )
    return words
