"""Writes the skeleton of a layer, and tells what the layer still lacks.

    python tools/new_layer.py SoftPooling1D    # as `make new-layer NAME=SoftPooling1D` calls it

The first call writes the four places: class, test, page with a picture to begin from, and a line of
`tests/catalogue.py`. Every call brings up to date what follows from them and prints what is
missing; `tests/test_docs.py` asks the same of every layer. Where nothing is, it runs the tests that
name the layer. A file that is there is never written over.
"""

import argparse
import inspect
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import jinja2

TOOLS = Path(__file__).resolve().parent
sys.path[:0] = [str(TOOLS), str(TOOLS.parent)]

import docstrings  # noqa: E402
import layer_lists as lists  # noqa: E402

REPOSITORY = lists.REPOSITORY
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TOOLS / "templates"),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)
# What the picture of a page begins from.
FIRST_PICTURE = "mean_of_words"
NAME = re.compile(r"(?:[A-Z][a-z0-9]*)+[A-Z]*")
TODO = re.compile(r"todo", re.I)

OF_DOCSTRING = ("Args", "Call arguments", "Input shape", "Output shape")
OF_DOCSTRING += ("Returns", "Raises", "Example", "Reference")
# The parts of a page in their order; others may stand between them.
OF_PAGE = ("The equations", "Example", "Shapes", "Masking", "Cost", "How it differs", "Reference")
# The comparison's rows: its own, and those whose weights are graded too.
ROWS = ("benchmarks/arena/grid.py", "benchmarks/mechanisms.py")
SHAPE = re.compile(r"`\([^`]*\)`")
PICTURE = re.compile(r"\.\./(assets/pictures/[^)]+)\)")


def module_of(name: str) -> str:
    """The file that a class is expected in: its name in snake case, without `.py`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def places(module: str, root: Path = REPOSITORY) -> dict[str, Path]:
    """The files that a layer has to itself, by the template of each."""
    return {
        "new_layer.py": root / "keras_attnpool" / "layers" / f"{module}.py",
        "test_new_layer.py": root / "tests" / "layers" / f"test_{module}.py",
        "new-layer.md": root / "docs" / lists.page_of(module),
    }


def write(name: str, root: Path = REPOSITORY, weights: bool = True) -> None:
    """Writes what is not there yet of a layer's four places, and what follows from them.

    Args:
        name: The class.
        root: The repository.
        weights: Whether the skeleton has a weight.
    """
    if not NAME.fullmatch(name):
        raise SystemExit(f"NAME must be a class name such as SoftPooling1D. Received: {name!r}")
    known = {layer.name: layer.module for layer in lists.layers(root)}
    module = known.get(name, module_of(name))
    for template, path in places(module, root).items():
        if not path.exists():
            skeleton = TEMPLATES.get_template(f"{template}.jinja")
            text = skeleton.render(name=name, module=module, weights=weights)
            path.write_text(text, encoding="utf-8")
            print(f"wrote  {path.relative_to(root)}")
            if path.suffix == ".md":
                write_picture(module, root)
    catalogue = root / "tests" / "catalogue.py"
    text = catalogue.read_text(encoding="utf-8")
    if f"layers.{name}(" not in text:
        start = text.index("\n}\n", text.index("\nLAYERS"))
        line = f'\n    "{module}": lambda: layers.{name}(),'
        catalogue.write_text(text[:start] + line + text[start:], encoding="utf-8")
        print(f"wrote  {catalogue.relative_to(root)}")
    lists.write(root)
    layer = next(each for each in lists.layers(root) if each.name == name)
    write_change(layer, root / "CHANGELOG.md")


def write_picture(module: str, root: Path) -> None:
    """Writes the picture that a new page begins with: that of the mean."""
    folder = root / "docs" / "assets" / "pictures"
    text = (folder / f"{FIRST_PICTURE}.svg").read_text(encoding="utf-8")
    words = 'aria-label="TODO: the picture in words; draw it, with your layer\'s numbers"'
    text = re.sub(r'aria-label="[^"]*"', words, text.replace(FIRST_PICTURE, module))
    path = folder / f"{module}.svg"
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        print(f"wrote  {path.relative_to(root)}")


def write_change(layer: lists.Layer, path: Path) -> None:
    """Writes the line of CHANGELOG, once the class says in its first line what it does."""
    text = path.read_text(encoding="utf-8")
    before, heading, after = text.partition("\n## [Unreleased]\n")
    start, added, rest = after.partition("\n### Added\n\n")
    released = "\n## [" in start
    if names(layer, text) or TODO.search(layer.does) or not added or released:
        return
    line = f"- `{layer.name}` {layer.does[:1].lower()}{layer.does[1:]}"
    line = textwrap.fill(line, 100, subsequent_indent="  ", break_on_hyphens=False)
    path.write_text(f"{before}{heading}{start}{added}{line}\n{rest}", encoding="utf-8")
    print(f"wrote  {path.name}")


def names(layer: lists.Layer, text: str) -> bool:
    """Whether a text names the layer."""
    return bool(re.search(rf"\b{layer.name}\b", text))


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
    drawn = [root / "docs" / name for name in PICTURE.findall(texts[f"docs/{layer.page}"])]
    pictures = {f"docs/assets/pictures/{p.name}": p.read_text() for p in drawn if p.is_file()}
    missing = [
        f"{where}:{number}: {line.strip() if len(line) < 120 else line[found.start() :][:80]}"
        for where, text in {**texts, **pictures}.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (found := TODO.search(line))
    ]
    asked = [of_class(cls), of_test(layer, texts), of_page(layer, texts, cls, root)]
    for where, lacks in zip(texts, asked, strict=True):
        missing += [f"{where} lacks {what}" for what, there in lacks.items() if not there]
    elsewhere = {
        path: (root / path).read_text(encoding="utf-8")
        for path in ("tests/catalogue.py", "CHANGELOG.md", *ROWS)
    }
    missing += [
        f"{path} does not name {layer.name}"
        for path in ("tests/catalogue.py", "CHANGELOG.md")
        if not names(layer, elsewhere[path])
    ]
    if required := required_of(cls):
        sizes = ", ".join(required)
        if f"layers.{layer.name}()," in elsewhere["tests/catalogue.py"]:
            missing.append(f"tests/catalogue.py makes {layer.name} without {sizes}")
        if "Pooling" in layer.name and not any(names(layer, elsewhere[path]) for path in ROWS):
            missing.append(f"{ROWS[0]} needs a line of MADE, which says {sizes}")
    return missing


def required_of(cls: type) -> list[str]:
    """The arguments without which a class cannot be made."""
    parameters = inspect.signature(cls).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def open_places(layer: lists.Layer, root: Path = REPOSITORY) -> list[str]:
    """Where a layer may be named too, a line each; no test asks for it."""
    optional = {
        "keras_attnpool/layers/names.py": "a short name beside the class's, in POOLINGS; it then "
        "stands in the docstring of `get`, docs/models.md and docs/guides/command-line.md",
        "docs/which-layer.md": "a row in By what you want",
        "benchmarks/behaviour/subjects.py": "a line, for the table of docs/behaviour.md",
    }
    return [
        f"{path}: {what}"
        for path, what in optional.items()
        if not names(layer, (root / path).read_text(encoding="utf-8"))
    ]


def of_class(cls: type) -> dict[str, bool]:
    """What a class needs, and whether it is there."""
    # The package is read when the new layer is a part of it.
    from keras_attnpool import _checks

    docstring = inspect.getdoc(cls) or ""
    titles = re.findall(r"^([A-Z][\w ]+):$", docstring, re.M)
    parameters = inspect.signature(cls).parameters
    arguments = [f"**{p.name}" if p.kind is p.VAR_KEYWORD else p.name for p in parameters.values()]
    listed = docstring.partition("\nArgs:\n")[2].partition("\n\n")[0]
    kept = inspect.getsource(cls.__init__).partition("super().__init__(locals()")[2]
    return {
        **{
            f"a line for `{name}` in VALIDATORS of keras_attnpool/_checks.py": bool(
                not kept or _checks.known_by(name, parameter.annotation) or f" {name}=" in kept
            )
            for name, parameter in parameters.items()
            if parameter.kind is not parameter.VAR_KEYWORD
        },
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


def of_cheat_sheet(layer: lists.Layer) -> dict[str, bool]:
    """What the row of the cheat sheet needs; not every layer that gives a sequence has one."""
    columns = lists.CHEAT_SHEET.get(layer.group)
    cells = layer.cheat_sheet
    if columns is None or (layer.group == "sequence" and cells is None):
        return {}
    told = f"`cheat_sheet:` on its top, with {', '.join(columns)}"
    return {told: isinstance(cells, dict) and set(cells) == set(columns)}


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
        **of_cheat_sheet(layer),
        f"the title {layer.name}": text.startswith(f"# {layer.name}\n"),
        f"the parts {', '.join(OF_PAGE)}, in this order, each of six words or more": [
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
        "a link to speed.md under Cost": "/speed.md" in part["Cost"]
        or "/targets.md" in part["Cost"],
        "a link to the API under Reference": "[API](../api/layers.md)" in part["Reference"],
    }


def tests_of(layer: lists.Layer, root: Path = REPOSITORY) -> list[str]:
    """The command that runs the tests which name a layer, under PyTorch: it compiles nothing."""
    page = (root / "docs" / layer.page).read_text(encoding="utf-8")
    pictures = [Path(picture).stem for picture in PICTURE.findall(page)]
    words = [layer.name, layer.module, Path(layer.page).stem, *pictures]
    options = ["-q", "-p", "no:nbval", "-m", "not slow and not browser", "-k", " or ".join(words)]
    return [sys.executable, "-m", "pytest", *options, str(root / "tests")]


def main() -> None:
    """Writes what is not there yet, and prints what the layer lacks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", help="the class, such as SoftPooling1D")
    parser.add_argument("--no-weights", action="store_true", help="of the skeleton")
    given = parser.parse_args()
    write(given.name, weights=not given.no_weights)
    docstrings.write()
    import keras_attnpool.layers

    layer = next(each for each in lists.layers() if each.name == given.name)
    missing = gaps(layer, getattr(keras_attnpool.layers, layer.name))
    if missing:
        print("\n".join([f"{layer.name} lacks:", *missing]))
        return
    print(f"{layer.name} has all its parts. The tests that name it:", flush=True)
    failed = subprocess.call(tests_of(layer), env={**os.environ, "KERAS_BACKEND": "torch"})
    print("\n".join(["Not asked for:", *open_places(layer)]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
