"""The hooks of the documentation, for its tests."""

import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
RESULTS = REPOSITORY / "benchmarks" / "results"
# The hooks import each other, as MkDocs lets them.
sys.path.insert(0, str(DOCS / "hooks"))


def hook(name, folder=DOCS / "hooks"):
    """A module of docs/hooks, or of another folder."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(figure):
    """The picture of a figure, which has words for the blind and no text outside its frame.

    A chart by matplotlib shares its page with others: it brings no id but those of its markers.
    """
    picture = ElementTree.fromstring(figure).find("svg")
    assert picture.get("role") == "img" and len(picture.get("aria-label")) > 40
    width, height = (float(number) for number in picture.get("viewBox").split()[2:])
    for text in picture.iter("text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height
    ids = [each.get("id") for each in picture.iter() if each.get("id")]
    assert len(set(ids)) == len(ids) and picture.findtext(".//style") is None
    return picture


def marks(picture):
    """How many points a chart has, and how many lines through several of them."""
    paths = [path for path in picture.iter("path") if "stroke-width: 1.5" in path.get("style", "")]
    return len(picture.findall(".//use")), len([p for p in paths if p.get("d").count("L")])
