"""Links a paper, its tutorial, its layers and their reference with each other, in every direction.

A layer's page names its papers on its top, as `tools/layer_lists.py` reads it. The page and the
notebook of a paper have its name: `papers/generalized-pooling.md` and
`notebooks/04_generalized_pooling.ipynb`. The links stand below the title of each page.
"""

import functools
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import layer_lists as lists

REPOSITORY = lists.REPOSITORY
TITLE = re.compile(r"^# .*\n", re.M)
# Where every notebook leads: to the one advice on each of these questions.
ADVICE = [
    ("Which layer?", "which-layer.md"),
    ("When is attention an explanation?", "explanation.md#when"),
]
# What a notebook says that it needs beside what all of them need.
EXTRA = re.compile(r"keras_attnpool\[(\w+)\]")
PACKAGE = re.compile(r"pip install (--no-deps [\w-]+)")

# Every page of the site asks for them.
_layers = functools.cache(lists.layers)


def on_pre_build(config):
    """Reads the layers anew: `make docs-serve` builds the site again after a change."""
    _layers.cache_clear()


def papers(root=REPOSITORY):
    """The papers that have a page: their title, page, notebook and layers."""
    found, listed = {}, _layers(root)
    for page in sorted((root / "docs" / "papers").glob("*.md")):
        title = TITLE.search(page.read_text(encoding="utf-8"))[0].strip("# \n")
        stem = page.stem.replace("-", "_")
        notebook = next((root / "notebooks").glob(f"[0-9]*_{stem}.ipynb"))
        layers = [each for each in listed if title in each.paper.split("; ")]
        found[title] = (f"papers/{page.name}", f"notebooks/{notebook.name}", layers)
    return found


def links_of(source, root=REPOSITORY):
    """The groups of links of a page, `(word, [(text, path below docs), ...])`, none for others."""
    groups = []
    known = papers(root)
    for layer in _layers(root):
        if layer.page != source:
            continue
        groups.append(
            ("Reference", [(layer.name, f"api/layers.md#keras_attnpool.layers.{layer.name}")])
        )
        own = {title: each for title, each in known.items() if layer in each[2]}
        if own:
            groups.append(("Paper", [(title, page) for title, (page, _, _) in own.items()]))
            groups.append(("Tutorial", [(title, book) for title, (_, book, _) in own.items()]))
        else:
            groups.append(("Tutorial", [("Quickstart", "notebooks/00_quickstart.ipynb")]))
    for title, (page, notebook, layers) in known.items():
        if source == page:
            groups.append(("Tutorial", [(title, notebook)]))
        elif source == notebook:
            groups.append(("Paper", [(title, page)]))
        else:
            continue
        groups.append(("Layers", [(layer.name, layer.page) for layer in layers]))
    if source.startswith("notebooks/"):
        groups.append(("Advice", ADVICE))
    return groups


def written(groups, link):
    """The line of links; `link` writes one from its text and path."""
    return " · ".join(
        f"{word}: {', '.join(link(text, path) for text, path in links)}" for word, links in groups
    )


def install(content):
    """The commands that install what a notebook needs, by what it says."""
    extras = ["jax", "text", "plots", "notebooks"]
    extras = dict.fromkeys([*extras, *EXTRA.findall(content)])
    packages = dict.fromkeys(PACKAGE.findall(content))
    return [f'pip install ".[{",".join(extras)}]"', *(f"pip install {each}" for each in packages)]


def on_page_markdown(markdown, page, config, files):
    """Puts the links below the title of a page, and below a notebook's how to run it yourself."""
    source, lines = page.file.src_uri, []
    if source.startswith("notebooks/"):
        source = f"{source.removesuffix('.md')}.ipynb"
        name = Path(source).name
        first, *others = (f"`{command}`" for command in install(markdown))
        steps = [f"{first} in a copy of the repository", *others, f"`jupyter lab {name}`"]
        download = f'<a href="{name}" download>Download this notebook</a>'
        lines.append(f"{download}, then: {', '.join(steps)}")
    if groups := links_of(source):
        lines.insert(0, written(groups, lambda text, path: f"[{text}](../{path})"))
    below = "".join(f"\n{line}\n{{ .links }}\n" for line in lines)
    return TITLE.sub(lambda title: f"{title[0]}{below}", markdown, count=1)
