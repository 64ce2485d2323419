"""What a model's attention is worth: the tests of the literature, in one table and one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_attnpool._checks import ArgumentError
from keras_attnpool.analysis._attention_tests import AttentionTests
from keras_attnpool.analysis._graph import layers_by_path
from keras_attnpool.analysis._removal import checked_ids
from keras_attnpool.analysis._report_page import write_report
from keras_attnpool.analysis._token_rows import checked_tokens
from keras_attnpool.analysis.erasure import leave_one_out
from keras_attnpool.analysis.grading import grade_attributions
from keras_attnpool.analysis.saliency import gradient_saliency
from keras_attnpool.analysis.score_table import ScoreTable
from keras_attnpool.analysis.scores import wanted_layers
from keras_attnpool.types import Array, Float32s, PathLike

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


def attention_report(
    model: keras.Model,
    ids: Any,
    labels: Any = None,
    *,
    layer: Any = None,
    layout: str | None = None,
    embedding: Any = None,
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
    | `random encoder` | those of all layers listed before it | the same |
    | `random both` | both | the same |

    Other weights that give the same classes are another explanation of the same prediction. The
    columns: `tau`, Kendall's with the attention as it is; `overlap`, the weight that both share;
    `same class`, the share of texts whose predicted class stays; `change`, half of the sum of
    absolute changes of the probabilities; with `labels` also `accuracy`, and `guided accuracy`,
    that of a bag of words on held-out texts whose mean is weighted by these weights, frozen. It is
    above that of uniform weights where the weights tell what another model can use.

    Weights can be changed where the layer's output is the weighted sum of its inputs. Of other
    layers these rows hold no predictions. What has no weights to put in disorder has no row.

    Cost: that of `grade_attributions` and about ten predictions of all texts; with `labels`, ten
    epochs of a small model for each row.

    Args:
        model: A functional or built Sequential classifier with one input of ids.
        ids: Integer array `(texts, time)`, 0 = padding, behind the tokens or in front of them.
        labels: `None`, or integer array `(texts,)`. Texts that the model was not trained on.
        layer: The attention layer, its name or path, see `attention_scores`. Needed if the model
            has several.
        layout: The layout of its scores, see `reduce_scores`. Layers of this package and of Keras
            tell theirs; that of another layer is needed where its shape does not.
        embedding: The embedding layer, for `gradient_saliency`. Needed if the model has several.
        others: Models of the same kind from other seeds, with a layer of the same path.
        tokens: `None`, or one list of strings per text, for the heat maps of the page.
        rationales: `None`, or one boolean or 0/1 array per text, True = the token decides: one for
            each token, or one for each place of `ids`.
        beam_size: Of the search of bounds, see `grade_attributions`; 0 leaves the bounds out.
        path: Where to write an HTML page of tables, heat maps and, with the extra `plots`,
            pictures. It loads nothing.
        title: The page's title.
        seed: Seed of what is shuffled, and of the order of equal weights.
        from_logits: Whether the model returns logits and not probabilities.
        batch_size: Number of texts in one step.
        verbose: 0 or 1, whether there is a progress bar over the texts.

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
    if ids.ndim != 2:
        raise ArgumentError("ids", "have shape (texts, time)", f"shape {ids.shape}", OWNER)
    if isinstance(others, keras.Model):
        raise ArgumentError("others", "be a list of models", "one model", OWNER)
    if path is not None and not Path(path).parent.is_dir():
        raise ArgumentError("path", "be in a folder that exists", {"path": path}, OWNER)
    if tokens is not None:
        tokens = _checked_words(tokens, ids)
    tests = AttentionTests(
        model,
        ids,
        ids != 0,
        _only_path(model, layer),
        OWNER,
        layout=layout,
        labels=labels,
        from_logits=from_logits,
        batch_size=batch_size,
    )
    effects = leave_one_out(model, ids, from_logits=from_logits, batch_size=batch_size)
    slopes = gradient_saliency(
        model, ids, layer=embedding, from_logits=from_logits, batch_size=batch_size
    )
    grades = grade_attributions(
        model,
        ids,
        {"attention": tests.weights, "leave-one-out": effects, "gradient": slopes},
        rationales,
        beam_size=beam_size,
        seed=seed,
        layer=embedding,
        from_logits=from_logits,
        batch_size=batch_size,
        verbose=verbose,
    )
    table = tests.table(others, seed)
    if path is not None:
        drawn = {"attention": tests.weights, "leave-one-out": effects}
        path = write_report(path, title, grades, table, tokens, drawn, ids)
    return AttentionReport(grades, table, tests.weights, path)


def _only_path(model: keras.Model, layer: Any) -> str:
    paths = wanted_layers(model, layers_by_path(model, OWNER), layer, OWNER)
    if len(paths) != 1:
        must = f"be the one attention layer to test, one of {sorted(paths)}"
        raise ArgumentError("layer", must, {"layer": layer}, OWNER)
    return next(iter(paths))


def _checked_words(tokens: Any, ids: Array) -> list[list[str]]:
    words = checked_tokens(tokens, OWNER)
    sizes = (ids != 0).sum(axis=1).tolist()
    if [len(row) for row in words] != sizes:
        received = f"{len(words)} texts of other lengths than the {len(ids)} of `ids`"
        raise ArgumentError("tokens", "have one string for each id that is not 0", received, OWNER)
    return words
