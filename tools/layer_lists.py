"""Lists the layers of the package, and writes whatever names them all.

A public layer is a class of `keras_attnpool/layers/` that is registered for serialization. What it
does stands in the first line of its docstring. Its group, its paper and its row of the cheat sheet
stand on top of its page, its shapes in the page's part "Shapes".

    python tools/layer_lists.py    # as `make layers` calls it

rewrites the exports of `keras_attnpool.layers` and README's tables. As a hook of MkDocs this file
fills the navigation of the site, and in its pages the lines `<!-- layers: api -->`,
`<!-- layers: pooling -->`, or of another group, `<!-- layers: sees -->`, and
`<!-- layers: cheat sheet of pooling -->`.
"""

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent
SECTION = "Layers"
# What a layer does, as its page names it, and the title of that part of the navigation.
GROUPS = {
    "attention": "Attention pooling",
    "pooling": "Pooling without attention",
    "sequence": "From sequence to sequence",
    "around": "Around them",
}
# The columns of the cheat sheet behind the layer's name, by group; the first stands elsewhere.
SEES = "sees"
CHEAT_SHEET = {
    "pooling": (SEES, "score", "softmax over", "weights", "output", "learned numbers", "outweighs"),
    "sequence": ("score", "softmax over", "weights", "costs"),
}
CHEAT_SHEET["attention"] = CHEAT_SHEET["pooling"]
# README's tables, by what a user wants; the first two stand open.
WANTS = {
    "one": "Pool to one vector, by attention",
    "several": "Pool to several vectors, by attention",
    "plain": "Pool without attention",
    "weigh": "Weigh a sequence",
    "encode": "Encode a sequence",
}
OPEN = (WANTS["one"], WANTS["several"])
MARKER = re.compile(
    rf"^<!-- layers: (?:(?P<which>api|{SEES}|{'|'.join(GROUPS)})"
    r"|cheat sheet of (?P<sheet>[\w, ]+)) -->$",
    re.M,
)
TABLE = re.compile(r"(?<=<!-- layers -->\n).*?(?=<!-- end of layers -->)", re.S)
IMPORTS = re.compile(r"^from \..*", re.M | re.S)
FRONT = re.compile(r"\A---\n(?P<front>.*?)^---\n+", re.M | re.S)
# The cells of a page's part "Shapes", as far as they go for every choice of arguments.
SHAPES = re.compile(r"^\| (output|scores) \| (.*?)(?:; .*| where .*|, or .*)? \|$", re.M)


class Layer(NamedTuple):
    """What the lists say of a layer; the page's share is empty where there is no page yet."""

    name: str
    module: str
    does: str
    group: str = ""
    paper: str = ""
    output: str = ""
    scores: str = ""
    cheat_sheet: dict[str, str] | None = None

    @property
    def page(self) -> str:
        """The layer's page, below `docs/`."""
        return page_of(self.module)


def page_of(module: str) -> str:
    """The page of the layer in this module, below `docs/`."""
    return f"layers/{module.replace('_', '-')}.md"


def registered_class(source: str) -> ast.ClassDef | None:
    """The class of a module that Keras saves and loads by name."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return next(
        (c for c in classes if "register" in " ".join(map(ast.unparse, c.decorator_list))), None
    )


def of_page(page: str) -> dict[str, Any]:
    """What a page says of its layer: on its top, between lines of dashes, and of its shapes."""
    front = FRONT.match(page)
    said = (yaml.safe_load(front["front"]) or {}) if front else {}
    return {
        **{key: said[key] for key in ("group", "paper", "cheat_sheet") if key in said},
        **dict(SHAPES.findall(page)),
    }


def layers(root: Path = REPOSITORY) -> list[Layer]:
    """All public layers, group by group, by name."""
    found = []
    for path in (root / "keras_attnpool" / "layers").glob("*.py"):
        public = registered_class(path.read_text(encoding="utf-8"))
        if public is not None:
            does = (ast.get_docstring(public) or "").partition("\n")[0]
            file = root / "docs" / page_of(path.stem)
            page = file.read_text(encoding="utf-8") if file.is_file() else ""
            try:
                found.append(Layer(public.name, path.stem, does, **of_page(page)))
            except yaml.YAMLError as error:
                hint = "what holds ': ' stands in single quotes there"
                raise ValueError(f"the top of {file} is no YAML; {hint}: {error}") from error
    place = {group: number for number, group in enumerate(GROUPS)}
    return sorted(found, key=lambda layer: (place.get(layer.group, len(place)), layer.name))


def exports(found: list[Layer]) -> str:
    """The imports of `keras_attnpool/layers/__init__.py`, in the project's format."""
    functions = [("names", "get"), ("names", "is_attention_layer")]
    lines = []
    for module, name in sorted([*functions, *((layer.module, layer.name) for layer in found)]):
        start = f"from .{module} import"
        line = f"{start} {name} as {name}"
        lines.append(line if len(line) <= 100 else f"{start} (\n    {name} as {name},\n)")
    return "\n".join(lines) + "\n"


def table(*rows: list[str]) -> str:
    """A table in Markdown, titles first."""
    title, *lines = (f"| {' | '.join(cell or '–' for cell in row)} |" for row in rows)
    return "\n".join([title, "|---" * len(rows[0]) + "|", *lines])


def want(layer: Layer) -> str:
    """What a user wants who takes a layer: a title of README's tables."""
    if layer.group == "attention":
        return WANTS["several" if "num_" in layer.output else "one"]
    if layer.group == "sequence" and layer.output == "`(batch, time, dim)`":
        return WANTS["weigh"]
    return WANTS["plain" if layer.group == "pooling" else "encode"]


def readme_table(found: list[Layer]) -> str:
    """All layers, by what a user wants: those that pool by attention first, the others folded."""
    titles = ["layer (`keras_attnpool.layers`)", "what it does", "output", "paper"]
    tables = {}
    for title in WANTS.values():
        rows = [[f"`{e.name}`", e.does, e.output, e.paper] for e in found if want(e) == title]
        tables[title] = f"**{title}**\n\n{table(titles, *rows)}"
    first, rest = (
        [text for title, text in tables.items() if (title in OPEN) == wanted]
        for wanted in (True, False)
    )
    folded = sum(want(layer) not in OPEN for layer in found)
    summary = (
        f"<details><summary>{folded} more layers: pool without attention, weigh, encode</summary>"
    )
    return "\n" + "\n\n".join([*first, summary, *rest, "</details>\n"])


def group_table(found: list[Layer]) -> str:
    """The layers of one group, with links to their pages; scores where one of them has some."""
    titles = ["layer", "output", "paper"]
    rows = [[f"[`{e.name}`]({Path(e.page).name})", e.output, e.paper] for e in found]
    if any(layer.scores for layer in found):
        for row, scores in zip(
            [titles, *rows], ["attention scores", *(e.scores for e in found)], strict=True
        ):
            row.insert(2, scores)
    return table(titles, *rows)


def cheat_sheet(found: list[Layer]) -> str:
    """The rows of layers that have one, with links to their pages; their groups share columns."""
    rows = [(e, e.cheat_sheet) for e in found if e.cheat_sheet]
    titles = [title for title in CHEAT_SHEET[rows[0][0].group] if title != SEES]
    cells = ([f"[`{e.name}`]({e.page})", *(str(row.get(t, "")) for t in titles)] for e, row in rows)
    return table(["layer", *titles], *cells)


def seen(found: list[Layer]) -> str:
    """The information that the weights of a pooling see, and the shape of its scores."""
    titles = ["layer", "a weight depends on", "scores", "outweighs"]
    rows = [
        [f"[`{e.name}`]({e.page})", e.cheat_sheet[SEES]]
        + [e.scores.replace("(batch, ", "("), str(e.cheat_sheet["outweighs"])]
        for e in found
        if e.cheat_sheet and SEES in e.cheat_sheet
    ]
    return table(titles, *rows)


def fill(markdown: str, root: Path = REPOSITORY) -> str:
    """The page with its lists of layers."""

    def written(match: re.Match[str]) -> str:
        found = layers(root)
        if match["sheet"]:
            groups = match["sheet"].split(", ")
            return cheat_sheet([each for g in groups for each in found if each.group == g])
        if match["which"] == SEES:
            return seen(found)
        if match["which"] == "api":
            return "\n\n".join(
                f"::: keras_attnpool.layers.{layer.name}\n\n"
                f"Equations, picture, shapes and cost: [{layer.name}](../{layer.page})"
                for layer in found
            )
        return group_table([layer for layer in found if layer.group == match["which"]])

    return MARKER.sub(written, markdown)


def navigation(entries: list, root: Path = REPOSITORY) -> list:
    """The entries of the navigation, with the layers' pages below their section and group."""
    found = layers(root)
    pages: list = ["layers/index.md"]
    for group, title in GROUPS.items():
        pages.append({title: [{e.name: e.page} for e in found if e.group == group]})
    return [{SECTION: pages} if SECTION in entry else entry for entry in entries]


def stale(root: Path = REPOSITORY) -> dict[Path, str]:
    """The committed files that no longer say what the layers say, and what they should hold."""
    found = layers(root)
    fresh = {}
    for path, pattern, text in (
        (root / "keras_attnpool" / "layers" / "__init__.py", IMPORTS, exports(found)),
        (root / "README.md", TABLE, readme_table(found)),
    ):
        before = path.read_text(encoding="utf-8")
        after, times = pattern.subn(lambda match, text=text: text, before)
        if times != 1:
            raise ValueError(f"{path} must have one place for the list of layers; found {times}")
        if after != before:
            fresh[path] = after
    return fresh


def write(root: Path = REPOSITORY) -> None:
    """Brings the committed lists up to date."""
    for path, text in stale(root).items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote  {path.relative_to(root)}")


def on_config(config):
    """Lists the layers in the navigation."""
    config.nav = navigation(config.nav)
    return config


def on_page_markdown(markdown, page, config, files):
    """Lists the layers where a page asks for it."""
    return fill(markdown)


if __name__ == "__main__":
    write()
