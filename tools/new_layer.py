"""Writes the skeleton of a layer, and tells what the layer still lacks.

    python tools/new_layer.py SoftPooling1D    # as `make new-layer NAME=SoftPooling1D` calls it

The first call writes the four places: class, test, page, and a line of `tests/catalogue.py`. Every
call brings the lists of layers up to date and prints what is missing; `tests/test_docs.py` asks the
same of every layer. A file that is there is never written over.
"""

import inspect
import re
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
sys.path[:0] = [str(TOOLS), str(TOOLS.parent)]

import layer_lists as lists  # noqa: E402

REPOSITORY = lists.REPOSITORY
TEMPLATES = TOOLS / "templates"
NAME = re.compile(r"(?:[A-Z][a-z0-9]*)+[A-Z]*")
TODO = re.compile(r"todo", re.I)

OF_DOCSTRING = ("Args", "Call arguments", "Input shape", "Output shape")
OF_DOCSTRING += ("Returns", "Raises", "Example", "Reference")
# The parts of a page in their order; others may stand between them.
OF_PAGE = ("The equations", "Example", "Shapes", "Masking", "Cost", "How it differs", "Reference")
SHAPE = re.compile(r"`\([^`]*\)`")
PICTURE = re.compile(r"\.\./(assets/pictures/[^)]+)\)")


def module_of(name: str) -> str:
    """The file that a class is expected in: its name in snake case, without `.py`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def places(module: str, root: Path = REPOSITORY) -> dict[str, Path]:
    """The files that a layer has to itself, by the template of each."""
    return {
        "new_layer.py": root / "keras_attnpool" / "layers" / f"{module}.py",
        "test_new_layer.py": root / "tests" / "layers" / f"test_{module}.py",
        "new-layer.md": root / "docs" / lists.page_of(module),
    }


def write(name: str, root: Path = REPOSITORY) -> None:
    """Writes what is not there yet of a layer's four places, and the lists of layers."""
    if not NAME.fullmatch(name):
        raise SystemExit(f"NAME must be a class name such as SoftPooling1D. Received: {name!r}")
    known = {layer.name: layer.module for layer in lists.layers(root)}
    module = known.get(name, module_of(name))
    for template, path in places(module, root).items():
        if not path.exists():
            text = (TEMPLATES / template).read_text(encoding="utf-8")
            text = text.replace("NewLayer", name).replace("new_layer", module)
            path.write_text(text, encoding="utf-8")
            print(f"wrote  {path.relative_to(root)}")
    catalogue = root / "tests" / "catalogue.py"
    text = catalogue.read_text(encoding="utf-8")
    if f"layers.{name}(" not in text:
        start = text.index("\n}\n", text.index("\nLAYERS"))
        line = f'\n    "{module}": lambda: layers.{name}(),'
        catalogue.write_text(text[:start] + line + text[start:], encoding="utf-8")
        print(f"wrote  {catalogue.relative_to(root)}")
    lists.write(root)


def parts(page: str) -> dict[str, str]:
    """The parts of a page by their headings."""
    pieces = re.split(r"^## (.*?)(?: *\{.*\})?$", page, flags=re.M)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def gaps(layer: lists.Layer, cls: type, root: Path = REPOSITORY) -> list[str]:
    """What a layer lacks, a line each.

    Args:
        layer: The layer as the lists know it.
        cls: Its class.
        root: The repository.
    """
    texts = {}
    for path in places(layer.module, root).values():
        if not path.is_file():
            return [f"{path.relative_to(root)} is missing"]
        texts[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    missing = [
        f"{where}:{number}: {line.strip()}"
        for where, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if TODO.search(line)
    ]
    asked = [of_class(cls), of_test(layer, texts), of_page(layer, texts, cls, root)]
    for where, lacks in zip(texts, asked, strict=True):
        missing += [f"{where} lacks {what}" for what, there in lacks.items() if not there]
    where = ["tests/catalogue.py", "CHANGELOG.md"]
    where += ["docs/cheat-sheet.md"] * (layer.group in ("attention", "pooling"))
    where += ["benchmarks/arena/grid.py"] * ("Pooling" in layer.name)
    for file in where:
        if not re.search(rf"\b{layer.name}\b", _named(root / file)):
            missing.append(f"{file} does not name {layer.name}")
    return missing


def _named(path: Path) -> str:
    """The text of a file; the grid of the comparison has rows of the papers' comparison too."""
    text = path.read_text(encoding="utf-8")
    if path.name == "grid.py":
        papers = path.parent.parent / "reproduce" / "comparison.py"
        text += papers.read_text(encoding="utf-8")
    return text


def of_class(cls: type) -> dict[str, bool]:
    """What the docstring of a layer needs, and whether it is there."""
    docstring = inspect.getdoc(cls) or ""
    titles = re.findall(r"^([A-Z][\w ]+):$", docstring, re.M)
    arguments = [
        f"**{p.name}" if p.kind is p.VAR_KEYWORD else p.name
        for p in inspect.signature(cls).parameters.values()
    ]
    listed = docstring.partition("\nArgs:\n")[2].partition("\n\n")[0]
    return {
        f"the parts {', '.join(OF_DOCSTRING)} of the docstring, in this order": tuple(titles)
        == OF_DOCSTRING,
        **{f"`{name}` under Args": f"\n    {name}: " in f"\n{listed}" for name in arguments},
        "an example between fences": "```python" in docstring,
    }


def of_test(layer: lists.Layer, texts: dict[str, str]) -> dict[str, bool]:
    """What the tests of a layer need, and whether it is there."""
    test = next(text for where, text in texts.items() if "/test_" in where)
    # What stands around may read other inputs than the contract's.
    other = layer.group == "around"
    return {
        "the contract of tests/layer_contract.py": other or "Contract)" in test,
        "a float64 reference": other or "reference" in test,
    }


def of_page(
    layer: lists.Layer, texts: dict[str, str], cls: type, root: Path = REPOSITORY
) -> dict[str, bool]:
    """What the page of a layer needs, and whether it is there."""
    page = texts[f"docs/{layer.page}"]
    text = lists.FRONT.sub("", page)
    found = parts(text)
    part = dict.fromkeys(OF_PAGE, "") | found
    output = re.search(r"^Output shape:\n(.*?)\n\n", inspect.getdoc(cls) or "", re.M | re.S)
    shapes = [re.sub(r"\s+", " ", shape) for shape in SHAPE.findall(output[1] if output else "")]
    return {
        f"`group:` on its top, one of {', '.join(lists.GROUPS)}": layer.group in lists.GROUPS,
        f"the title {layer.name}": text.startswith(f"# {layer.name}\n"),
        f"the parts {', '.join(OF_PAGE)}, in this order": [
            title for title in found if title in OF_PAGE
        ]
        == [*OF_PAGE]
        and all(len(part[title].split()) > 5 for title in OF_PAGE),
        "an equation between $$": "$$" in part["The equations"],
        "a picture before the example": "assets/pictures/" in text.partition("## Example")[0],
        "a file for each picture": all(
            (root / "docs" / picture).is_file() for picture in PICTURE.findall(text)
        ),
        "an example with an assertion": "```python" in part["Example"]
        and "assert" in part["Example"],
        "the docstring's output shapes": bool(shapes) and all(s in part["Shapes"] for s in shapes),
        "the number of parameters, or `No weights`, under Cost": bool(
            re.search(r"parameters|No weights", part["Cost"])
        ),
        "a link to speed.md under Cost": "/speed.md" in part["Cost"],
        "a link to the API under Reference": "[API](../api/layers.md)" in part["Reference"],
    }


def main(name: str = "") -> None:
    """Writes what is not there yet, and prints what the layer lacks."""
    write(name)
    import keras_attnpool.layers

    layer = next(each for each in lists.layers() if each.name == name)
    missing = gaps(layer, getattr(keras_attnpool.layers, name))
    print("\n".join([f"{name} lacks:", *missing] if missing else [f"{name} has all its parts."]))


if __name__ == "__main__":
    main(*sys.argv[1:])
