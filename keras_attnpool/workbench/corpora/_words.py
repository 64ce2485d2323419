"""Reads the word lists of the corpora: text files with `[heads]`, entries and `# comments`."""

import re
from importlib import resources

Pattern = tuple[tuple[str, bool], ...]  # (word or slot, whether it decides)


def sections(corpus: str) -> dict[str, str]:
    """Reads the text under every head of `words/CORPUS.txt`, without comments."""
    file = resources.files("keras_attnpool.workbench.corpora") / "words" / f"{corpus}.txt"
    text = re.sub(r"^#.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    _, *parts = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)
    return {head: body.strip() for head, body in zip(parts[::2], parts[1::2], strict=True)}


def group(lists: dict[str, str], name: str) -> dict[str, str]:
    """Selects the sections with a head `[NAME KEY]`. The result has their keys."""
    heads = {head.removeprefix(f"{name} "): head for head in lists if head.startswith(f"{name} ")}
    return {key: lists[head] for key, head in heads.items()}


def entries(body: str) -> dict[str, str]:
    """Splits a section with lines of the form `key: value`."""
    return dict(line.split(": ", 1) for line in body.splitlines())


def pattern(line: str) -> Pattern:
    """Splits a line into its tokens. A star marks a token that decides the label."""
    return tuple((token.lstrip("*"), token.startswith("*")) for token in line.split())
