"""The command `explain`."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_attnpool import analysis
from keras_attnpool._files import whole_file
from keras_attnpool.analysis.html_heatmaps import visible
from keras_attnpool.cli import runs
from keras_attnpool.cli.attention import (
    LAYERS,
    SCALE,
    above_uniform,
    flat_remark,
    full_colour,
    read_attention,
    words_of,
)
from keras_attnpool.cli.errors import CommandError, reported
from keras_attnpool.cli.options import METHODS
from keras_attnpool.cli.predict import field, given_texts

PRINTED_WORDS = 8
PRINTED_CHARACTERS = 100
# A heat map with more cells shows the mean over the heads alone.
MOST_CELLS = 20_000
FORMATS = {"attention": ".2f", "saliency": "+.2f"}
LEGENDS = {
    "attention": "The number before a word: its attention, mean over the heads; 1 if all were "
    "alike.",
    "saliency": "The number before a word: gradient x input; + speaks for the predicted class, - "
    "against it; the mean strength is 1.",
}
NOTES = {
    "attention": SCALE,
    "saliency": "A positive weight speaks for the predicted class, a negative one against it.",
}
TITLES = {
    "attention": "Where {} looks",
    "saliency": "What the prediction of {} hangs on (gradient x input)",
}


def explain(given: dict[str, Any]) -> int:
    """Prints the class of every text with the words that count, and writes their heat maps.

    Args:
        given: `run`, and what was given of `texts`, `method` and `out`.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: If the run, the input or the output file cannot be used.
    """
    run = Path(given["run"])
    out = Path(given.get("out", run / runs.EXPLAINED))
    method = given.get("method", METHODS[0])
    name = runs.read_config(run).get("options", {}).get("model")
    if method == "attention" and name not in LAYERS:
        raise CommandError(
            f"{run}: the model {name} has no attention weights; --method saliency explains any "
            "model by gradients"
        )
    _check_out(out)
    asked = given_texts(given)
    config, tokenizer, model = runs.load(run)
    texts = list(asked)
    if not texts:
        return 0
    with reported():
        ids = tokenizer.encode(texts, max_length=config["options"]["max_length"])
    if method == "attention":
        rows, weights, predictions = read_attention(name, model, ids)
    else:
        predictions = model.predict(ids, verbose=0)
        weights = analysis.gradient_saliency(model, ids, predictions.argmax(axis=1))
        rows = weights[:, None]
    heatmaps: list[str] = []
    word_weights: list[npt.NDArray[np.float32]] = []
    for index, (content, words) in enumerate(
        zip(texts, words_of(tokenizer, texts, ids), strict=True)
    ):
        label = config["label_names"][int(predictions[index].argmax())]
        probability = f"{predictions[index].max():.4f}"
        own = weights[index, : len(words)]
        word_weights.append(own)
        print(field(label), probability, _shortened(content), sep="\t")
        for word, number in _strongest(words, own):
            print(f"  {number:{FORMATS[method]}}  {visible(word)}")
        by_head = rows[index, :, : len(words)]
        is_large = by_head.size > MOST_CELLS and len(by_head) > 1
        notes = [NOTES[method]] if index == 0 else []
        notes += _notes(words, len(tokenizer.tokenize(content)), tokenizer.vocabulary[1])
        near = flat_remark([own]) if method == "attention" else None
        notes += [near] if near else []
        notes += ["The text is long: only the mean over the heads is shown."] * is_large
        heatmaps.append(
            _heatmap(
                words,
                by_head if words and not is_large else own[None],
                is_attention=method == "attention",
                title=f"{label} ({probability})",
                label=" ".join(notes) or None,
            )
        )
    with whole_file(out) as temporary:
        analysis.heatmap_page(heatmaps, temporary, title=TITLES[method].format(name))
    remark = flat_remark(word_weights) if method == "attention" else None
    print(f"\n{LEGENDS[method]}", *filter(None, [remark]), f"Heat maps: {out}", sep="\n")
    sys.stdout.flush()
    return 0


def _heatmap(
    words: list[str], rows: npt.NDArray[np.float32], is_attention: bool, **texts: Any
) -> str:
    if is_attention:
        rows = above_uniform(rows)
        return analysis.heatmap_html(words, rows, vmax=full_colour(rows), **texts)
    return analysis.heatmap_html(words, rows, **texts)


def _check_out(out: Path) -> None:
    # The ending is asked for so that a slip does not replace a model or a file of texts.
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():
        raise CommandError(f"--out expects the name of an .html file. Received: {out}")
    if not out.parent.is_dir():
        raise CommandError(f"--out {out}: there is no folder {out.parent}")


def _strongest(words: list[str], weights: npt.NDArray[np.float32]) -> list[tuple[str, float]]:
    """The words of largest weight, with the weights on a scale of mean strength 1."""
    strength = np.abs(weights)
    relative = weights / (strength.mean() or 1) if words else weights
    order = np.argsort(-strength, kind="stable")[:PRINTED_WORDS]
    return [(words[place], float(relative[place])) for place in order]


def _notes(words: list[str], length: int, unknown: str) -> list[str]:
    """What a reader of the heat map has to know about the text."""
    notes = []
    if not length:
        notes.append("There is no word in this text.")
    if length > len(words):
        notes.append(f"The model reads the first {len(words)} of {length} words.")
    if any(word.endswith(f" {unknown}") for word in words):
        notes.append(f"{unknown}: the model does not know this word.")
    return notes


def _shortened(content: str) -> str:
    line = field(" ".join(content.split()))
    return line if len(line) <= PRINTED_CHARACTERS else f"{line[:PRINTED_CHARACTERS]} ..."
