"""The command `predict`."""

import json
import sys
from pathlib import Path
from typing import Any

from keras_attnpool.cli import runs
from keras_attnpool.cli.errors import CommandError, reported


def predict(given: dict[str, Any]) -> int:
    """Prints the class of every text.

    Args:
        given: `run`, and what was given of `texts` and `json`.

    Returns:
        The exit status, 0.

    Raises:
        CommandError: If the run or the input cannot be used.
    """
    config, tokenizer, model = runs.load(Path(given["run"]))
    texts = given.get("texts") or lines()
    if not texts:
        return 0
    with reported():
        ids = tokenizer.encode(texts, max_length=config["options"]["max_length"])
    for content, row in zip(texts, model.predict(ids, verbose=0).tolist(), strict=True):
        probabilities = dict(zip(config["label_names"], row, strict=True))
        label = max(probabilities, key=probabilities.__getitem__)
        if "json" in given:
            answer = {"label": label, "probability": probabilities[label]}
            answer |= {"probabilities": probabilities, "text": content}
            print(json.dumps(answer))
        else:
            print(label, f"{probabilities[label]:.4f}", " ".join(content.split()), sep="\t")
    sys.stdout.flush()
    return 0


def lines() -> list[str]:
    """The lines of standard input, each of them a text."""
    if sys.stdin.isatty():
        print("Reading texts, one a line, until Ctrl-D.", file=sys.stderr)
    try:
        return [line.rstrip("\r\n") for line in sys.stdin]
    except UnicodeDecodeError as error:
        raise CommandError(
            f"standard input: expects {error.encoding}. Received: {error}"
        ) from error
