"""Draws sentences of docstrings, pages and notebooks by a seed, to be read by somebody new.

    python tools/english_sample.py --seed 1            # 60 sentences, with their places
    python tools/english_sample.py --seed 1 --count 20

How many need a second reading? Each seed draws anew; the same seed draws the same.
"""

import argparse
import ast
import json
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Code, formulas, tables, headings and markers are no sentences.
LEFT_OUT = re.compile(
    r"```.*?```|<!--.*?-->|<[^>]+>|^\|.*?$|^#.*?$|^:::.*?$|\$\$.*?\$\$|^---\n.*?^---$"
    r"|^ *>>> .*?(?=\n\n|\Z)",
    re.S | re.M,
)
# ... nor is the literature of a docstring, and what begins an entry of its sections.
ENTRIES = re.compile(
    r"^References?:\n(?:\n| [^\n]*\n?)*"
    r"|^(?:\w[\w ]*:\n {4}| {4}[\w*, ]+: ).*?(?:[.?!](?=\s)|\Z)",
    re.S | re.M,
)
# ... nor is an answer to choose from in a quiz.
CHOICE = re.compile(r"\([a-d]\) [^a-z]")
# A point behind an abbreviation ends no sentence.
ENDS = re.compile(r"(?<=[.?!])(?<!\beq\.)(?<!\bal\.)\s+")


def texts():
    """Every text that a user reads, with its place."""
    for path in sorted((ROOT / "keras_attnpool").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_":
                yield path, ast.get_docstring(node) or ""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield path, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield path, "".join(cell["source"])


def sentences():
    """Every sentence of six words or more, with its place."""
    for path, text in texts():
        text = LEFT_OUT.sub("\n\n", text)
        if path.suffix == ".py":
            text = ENTRIES.sub("\n\n", text)
        for paragraph in re.split(r"\n\s*\n|(?:^|\n)\s*(?:[-*]|\d\.) |\n\w+:\n", text):
            for sentence in ENDS.split(" ".join(paragraph.split())):
                whole = sentence[-1:] in ".?!" and not CHOICE.match(sentence)
                if whole and len(sentence.split()) > 5:
                    yield f"{path.relative_to(ROOT)}: {sentence}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    found = sorted(set(sentences()))
    for sentence in random.Random(options.seed).sample(found, options.count):
        print(sentence)
