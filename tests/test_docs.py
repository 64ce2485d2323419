"""The documentation, checked without building it: pages, links, tables and pictures."""

import base64
import importlib
import importlib.util
import inspect
import itertools
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from benchmarks.reproduce import hcan as hcan_table
from benchmarks.reproduce import lama as lama_table
from benchmarks.reproduce import mpsan as mpsan_table
from benchmarks.reproduce import sam as sam_table
from benchmarks.reproduce.significance import judged
from keras_attnpool import layers, models, regularizers

REPOSITORY = Path(__file__).parent.parent
DOCS = REPOSITORY / "docs"
CONFIG = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"))
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
RESULTS = REPOSITORY / "benchmarks" / "results"

FENCE = re.compile(r"^(?P<indent> *)```.*?^(?P=indent)```", re.M | re.S)
SNIPPET = re.compile(r'^--8<-- "(?P<path>[^"]+)"$', re.M)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.*?)(?: *\{ *#(?P<id>[\w.-]+) *\})? *$", re.M)
OBJECT = re.compile(r"^::: (?P<name>[\w.]+)$", re.M)
FOREIGN_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|work|tmp|mnt|opt|usr|Users)\b")


def hook(name):
    """A module of docs/hooks."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


results, pictures, speed = hook("results"), hook("pictures"), hook("speed")
support, book, behaviour = hook("support"), hook("book"), hook("behaviour")


def source(page):
    """The Markdown of a page, with what it includes."""

    def included(match):
        return (REPOSITORY / match["path"]).read_text(encoding="utf-8")

    return SNIPPET.sub(included, (DOCS / page).read_text(encoding="utf-8"))


def prose(text):
    """The text without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def slug(heading):
    """The anchor of a heading, as Python-Markdown makes it."""
    heading = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    words = re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode())
    return re.sub(r"[-\s]+", "-", words.strip().lower())


def anchors(page):
    """The anchors that a page has: headings, their own ids, and the objects of the API."""
    text = FENCE.sub("", source(page))
    headings = {match["id"] or slug(match["text"]) for match in HEADING.finditer(text)}
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
        if not goal.is_file() or not goal.resolve().is_relative_to(DOCS.resolve()):
            broken.append(target)
        elif anchor and anchor not in anchors(goal.resolve().relative_to(DOCS.resolve())):
            broken.append(target)
    return broken


def nav_pages(entries):
    """The pages of a navigation, depth first."""
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, str):
            yield value
        else:
            yield from nav_pages(value)


def public(module):
    """The classes and functions that a module offers as its own."""
    return [
        name
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and not name.startswith("_")
        and value.__module__.startswith(module.__name__)
    ]


def test_every_page_is_in_the_navigation_once():
    listed = list(nav_pages(CONFIG["nav"]))
    assert sorted(listed) == PAGES


@pytest.mark.parametrize("name", public(layers))
def test_every_layer_has_a_page(name):
    file = inspect.getmodule(getattr(layers, name)).__name__.rpartition(".")[2]
    page = f"layers/{file.replace('_', '-')}.md"
    assert {name: page} in next(e["Layers"] for e in CONFIG["nav"] if "Layers" in e)
    assert source(page).startswith(f"# {name}\n")
    assert f"({page.partition('/')[2]})" in source("layers/index.md")


# The parts of a layer's page, in their order; others may stand between them.
PARTS = ("The equations", "Example", "Shapes", "Masking", "Cost", "How it differs", "Reference")
SHAPE = re.compile(r"`\([^`]*\)`")


def parts(text):
    """The parts of a page by their headings."""
    found = re.split(r"^## (.*?)(?: *\{.*\})?$", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.parametrize("name", public(layers))
def test_a_layer_s_page_has_all_parts(name):
    module = inspect.getmodule(getattr(layers, name)).__name__.rpartition(".")[2]
    page = source(f"layers/{module.replace('_', '-')}.md")
    found = parts(page)
    assert [title for title in found if title in PARTS] == list(PARTS)
    assert all(len(found[title].split()) > 5 for title in PARTS)
    assert "$$" in found["The equations"]
    assert page.index("<!-- picture: ") < page.index("## Example")
    assert "```python" in found["Example"] and "assert" in found["Example"]
    assert re.search(r"parameters|No weights", found["Cost"]) and "/speed.md" in found["Cost"]
    assert "[API](../api/layers.md)" in found["Reference"]
    # The shapes are those of the docstring.
    docstring = inspect.getdoc(getattr(layers, name))
    section = re.search(r"^Output shape:\n(.*?)\n\n", docstring, re.M | re.S)[1]
    stated = [re.sub(r"\s+", " ", shape) for shape in SHAPE.findall(section)]
    assert stated and all(shape in found["Shapes"] for shape in stated), stated


@pytest.mark.parametrize(
    ("name", "page"),
    [(n, "models.md") for n in public(models)]
    + [(n, "regularizers.md") for n in public(regularizers) if n != "HeadRegularizer"],
)
def test_every_model_and_regularizer_has_a_section(name, page):
    assert f"\n## {name}\n" in source(page)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("api/")])
def test_the_reference_is_complete(page):
    package = importlib.import_module(f"keras_attnpool.{Path(page).stem}")
    names = []
    for path in OBJECT.findall(source(page)):
        module, _, name = path.rpartition(".")
        # A module may have the name of its function: the path must lead to the function.
        assert sys.modules.get(path) is None, f"{path} is a module"
        assert getattr(importlib.import_module(module), name) is getattr(package, name)
        names.append(name)
    assert sorted(names) == sorted(public(package))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert broken_links(page, source(page)) == []


def test_a_broken_link_is_seen():
    text = "[a](nowhere.md) [b](#nowhere) [c](#install) [d](models.md#san) [e](models.md#sun)"
    assert broken_links("index.md", text) == ["nowhere.md", "#nowhere", "models.md#sun"]
    assert broken_links("index.md", "[a](../README.md)") == ["../README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_pages_speak_of_no_machine(page):
    assert not FOREIGN_PATH.search(source(page))
    assert FOREIGN_PATH.search("see /home/me/x")  # the pattern works


@pytest.mark.parametrize("page", PAGES)
def test_markers_are_filled(page):
    filled = pictures.draw(speed.fill(results.fill(source(page), RESULTS), RESULTS))
    filled = book.fill(support.fill(filled, DOCS / "support"), REPOSITORY)
    filled = behaviour.fill(filled, RESULTS / "behaviour")
    assert "<!--" not in filled


def test_what_the_site_loads_is_there():
    extra = CONFIG["extra_css"] + CONFIG["extra_javascript"] + CONFIG["extra"]["polyfills"]
    for name in extra:
        text = (DOCS / name).read_text(encoding="utf-8")
        for url in re.findall(r"url\(([^)]*)\)", text):
            assert ((DOCS / name).parent / url).is_file()
        assert not re.search(r"@import|(?:src|href)=[\"']?https?:", text)
    assert CONFIG["theme"]["font"] is False
    assert (DOCS / "assets" / "katex" / "LICENSE").is_file()


@pytest.mark.parametrize("name", sorted(pictures.PICTURES))
def test_pictures_are_sound(name):
    drawn = pictures.PICTURES[name]()
    assert "\n\n" not in drawn  # a blank line would end the block of HTML
    figure = ElementTree.fromstring(drawn)
    picture = figure.find("svg")
    assert picture.get("role") == "img" and len(picture.get("aria-label")) > 40
    assert any(f"<!-- picture: {name} -->" in source(page) for page in PAGES)
    width, height = (float(number) for number in picture.get("viewBox").split()[2:])
    for text in picture.iter("text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


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


@pytest.mark.parametrize("name", sorted(pictures.PICTURES))
def test_texts_of_pictures_fit_and_do_not_overlap(name):
    picture = ElementTree.fromstring(pictures.PICTURES[name]()).find("svg")
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
    drawn = pictures.figure(
        200,
        50,
        "",
        "",
        [pictures.text(10, 20, "one"), pictures.text(20, 22, "two"), pictures.text(90, 20, "six")],
    )
    picture = ElementTree.fromstring(drawn).find("svg")
    assert overlaps(list(text_boxes(picture))) == [("one", "two")]


# --- results -----------------------------------------------------------------------------------


def packed(right):
    """As benchmarks/reproduce/results.py keeps the items that a run had right."""
    bits = int("".join(map(str, right)), 2)
    return base64.b64encode(bits.to_bytes(len(right) // 8)).decode()


def row(mean, paper, std=0.0, runs=1):
    numbers = {"mean": mean, "std": std, "min": mean - std, "max": mean + std}
    return {
        "config": {
            "model": "LAMA",
            "arguments": {"num_heads": 10},
            "optimizer": "sgd",
            "learning_rate": 0.05,
        },
        "paper": paper,
        "parameters_without_embeddings": 12345,
        "runs": [
            {
                "seed": seed,
                "best_epoch": 3,
                "epochs": 5,
                "stopped_by_the_epoch_limit": seed > 0,
                "seconds_per_epoch": 2.0,
            }
            for seed in range(runs)
        ],
        "summary": {"test_accuracy": numbers, "test_macro_f1": {"mean": 0.9}},
    }


EXAMPLE = {
    "measure": "accuracy",
    "test_examples": 2189,
    "claims": [
        ["LAMA+ctx", "AVG", "it beats the mean", None],
        ["LAMA+ctx", "SAN", "it beats Lin et al.", None],
        ["LAMA+ctx", "BiGRU", "it beats max pooling", None],
        ["LAMA+ctx", "LAMA", "its own context helps", None],
        ["LAMA+ctx", "CNN", "it beats convolutions", None],
        ["LAMA+ctx, no l2", "LAMA+ctx", "no l2 helps", None],
        ["BiGRU", "AVG", "on data of the paper's own", 0.5],
    ],
    "protocol": {"batch_size": 32, "of_the_paper": "something else"},
    "versions": {"keras": "3.15", "backend": "jax"},
    "rows": {
        "LAMA+ctx": row(0.96, 0.973, std=0.01, runs=2),
        "LAMA": row(0.95, 0.965),
        "AVG": row(0.7, 0.795),
        "SAN": row(0.99, 0.942),
        "BiGRU": row(0.959, 0.867),
        "LAMA+ctx, no l2": row(0.961, None),
    },
}


def test_accuracy_table():
    lines = results.accuracy_table(EXAMPLE).split("\n")
    assert lines[2] == "| SAN | 94.2 | 99.0 | – | 90.0 | 1 | 12,345 |"
    assert "| LAMA+ctx | 97.3 | 96.0 | 95.0 – 97.0 | 90.0 | 2 | 12,345 |" in lines
    assert "| LAMA+ctx, no l2 | – | 96.1 | – | 90.0 | 1 | 12,345 |" in lines


def test_claims_table():
    text = results.claims_table(EXAMPLE)
    once = "unpaired |"
    assert f"(LAMA+ctx − AVG) | +17.8 | +26.0 | +23.4 to +28.6, {once} holds, by one run |" in text
    assert f"(LAMA+ctx − SAN) | +3.1 | −3.0 | −4.7 to −1.3, {once} **reversed**, by" in text
    far = "too close to call, but not by the paper's distance"
    assert f"(LAMA+ctx − BiGRU) | +10.6 | +0.1 | −1.7 to +1.9, {once} {far}, by one run |" in text
    assert f"(LAMA+ctx − LAMA) | +0.8 | +1.0 | −0.9 to +2.9, {once} too close to call" in text
    assert f"(LAMA+ctx, no l2 − LAMA+ctx) | – | +0.1 | −1.7 to +1.9, {once} too close" in text
    far = "holds, but not by the paper's distance"
    assert f"(BiGRU − AVG) | +50.0 | +25.9 | +23.8 to +28.0, {once} {far}, by one run |" in text
    assert "CNN" not in text  # not measured


def test_tables_of_another_measure():
    correlation = {"mean": 0.8, "std": 0.0, "min": 0.8, "max": 0.8}
    measured = {
        "measure": "pearson",
        "test_examples": 400,
        "rows": {
            "max": row(0.9, None)
            | {"summary": {"test_pearson": correlation, "test_mse": {"mean": 0.3456}}}
        },
    }
    lines = results.accuracy_table(measured).split("\n")
    assert lines[0] == (
        "| model | here, mean | lowest – highest | squared error | runs | parameters |"
    )
    assert lines[2] == "| max | 80.0 | – | 0.346 | 1 | 12,345 |"
    measured["published"] = {"test_mse": {"max": 0.25}}
    lines = results.accuracy_table(measured).split("\n")
    assert "| squared error (paper) |" in lines[0] and "| 0.346 (0.250) |" in lines[2]


def test_other_tables():
    assert "one run" in results.state_note(EXAMPLE)
    whole = {"rows": {"LAMA": row(0.95, 0.965, runs=3)}}
    assert results.state_note(whole) == ""
    EXAMPLE["rows"]["SAN"]["config"]["arguments"] |= {
        "penalty": ["AttentionOrthogonality", 0.2],
        "scale": {"class_name": "Constant", "config": {"value": 5.0}},
    }
    EXAMPLE["rows"]["AVG"]["config"]["arguments"] |= {"positions": [["backward", "distance"], []]}
    assert '`positions=(("backward", "distance"), ())`' in results.recipes_table(EXAMPLE)
    EXAMPLE["rows"]["BiGRU"]["config"]["dtype_policy"] = "mixed_bfloat16"
    EXAMPLE["rows"]["BiGRU"]["runs"][0]["backend"] = "torch"
    recipe = results.recipes_table(EXAMPLE)
    assert "| sgd, 0.05, mixed_bfloat16 | CPU torch |" in recipe
    assert (
        "`num_heads=10`<br>`penalty=AttentionOrthogonality(0.2)`<br>`scale=Constant(5.0)`" in recipe
    )
    best = "CPU jax | 3 of 5, 3 of 5 (limit) | 2.0 |"
    assert f"| `LAMA`<br>`num_heads=10` | sgd, 0.05 | {best}" in recipe
    EXAMPLE["rows"]["LAMA"]["runs"][0]["device"] = "a GPU"
    EXAMPLE["rows"]["LAMA"]["config"]["arguments"] = {"args": [7], "scale": 2}
    recipe = results.recipes_table(EXAMPLE)
    assert (
        "| LAMA | `LAMA`<br>`7`<br>`scale=2` | sgd, 0.05 | a GPU jax | 3 of 5 | 2.0 (GPU)" in recipe
    )
    assert recipe.startswith('??? abstract "How each row was trained"\n\n    | model |')
    assert results.protocol_list({**EXAMPLE, "examples": [1000, 20, 300]}) == (
        '??? abstract "Protocol and versions"\n\n'
        "    - **examples**: 1,000 to train on, 20 to choose the epoch by, 300 to test\n"
        "    - **batch size**: 32\n    - **versions**: keras 3.15, backend jax"
    )


def test_padding_table():
    assert results.padding_table({"padding": {"packed 3": 0.5, "padded": 0.8}}).split("\n")[2:] == [
        "| padded | 80.0 % | 5.0 |",
        "| packed 3 | 50.0 % | 2.0 |",
    ]


def test_times_table():
    measured = {
        "epoch_times": {
            "slow": {"paper": 1.35, "parameters": 1800, "relative": [2.5, 2.25, 3.0]},
            "first": {"paper": 1.0, "parameters": 1090, "relative": [1.0, 1.0, 1.0]},
        }
    }
    assert results.times_table(measured).split("\n")[2:] == [
        "| first | 1,090 | 1.00 | 1.00 | – |",
        "| slow | 1,800 | 1.35 | 2.50 | 2.25 – 3.00 |",
    ]


def test_the_tables_hold_every_measured_row():
    for path in RESULTS.glob("*.json"):
        measured = json.loads(path.read_text(encoding="utf-8"))
        table = results.accuracy_table(measured)
        for name, entry in measured["rows"].items():
            mean = 100 * entry["summary"][f"test_{measured['measure']}"]["mean"]
            assert re.search(rf"^\| {re.escape(name)} \|( \S+ \|)? {mean:.1f} \|", table, re.M)


@pytest.mark.parametrize("page", ["results.md", "papers/lama.md", "index.md", "which-layer.md"])
def test_no_measured_figure_is_typed(page):
    assert not re.search(r"\b(?:0?\.[89]\d{1,4}|[89]\d\.\d)\b", prose(source(page)))


def compared(names, **more):
    """A file of the comparison with three mechanisms and the linear floor."""
    entries = {}
    for name, accuracy in names.items():
        entry = row(accuracy, None)
        entry["runs"][0] |= {"cpu_seconds": 50.0 * accuracy}
        entries[name] = entry
    entries["TF-IDF, linear"] = row(0.5, None)
    del entries["TF-IDF, linear"]["config"]["optimizer"]
    return {"measure": "accuracy", "dataset": "toys", "test_examples": 8, "rows": entries, **more}


def test_comparison_tables():
    mean_ = results.BASE
    measured = compared({mean_: 0.5, "AttentionPooling": 0.75, "other, wide": 0.25})
    for key, values in (("rationale_auc", (0.9, 0.8, 1)), ("rationale_mass", (0.5, 0.4, 0.6))):
        found = dict(zip(("mean", "min", "max"), values, strict=True))
        measured["rows"]["AttentionPooling"]["summary"][f"test_{key}"] = found
    found = {"mean": -0.1, "min": -0.3, "max": 0.2}
    measured["rows"]["AttentionPooling"]["summary"]["test_deletion_gap"] = found
    assert results.attention_table(measured).split("\n")[2:] == [
        "| `AttentionPooling` | 0.90 (0.80 – 1.00) | 0.50 (0.40 – 0.60) | −0.10 (−0.30 – 0.20) |"
    ]
    measured["memory"] = {mean_: 200, "AttentionPooling": 500, "other, wide": "would hold 9 GiB"}
    lines = results.comparison_table(measured).split("\n")
    assert "| 0.5 | 9 GiB |" in lines[-1]
    best = "| `AttentionPooling` | 75.0 | 90.0 | – | 12,345 | 1.5 | 2.5 |"
    assert lines[2] == best
    assert lines[-1].startswith("| other, wide | 25.0 |")
    (floor,) = [line for line in lines if line.startswith("| TF-IDF")]
    assert floor.count("| – ") >= 3
    files = {"reviews": measured, "toys": compared({mean_: 0.5})}
    lines = results.which_table(files).split("\n")
    assert lines[0].startswith("| mechanism | reviews | toys | parameters | time |")
    assert "| AttentionPooling | 75.0 | – | 12,345 | 1.5 | 0.90 |" in lines
    assert {line.split(" | ")[0] for line in lines[2:]} == {f"| {n}" for n in measured["rows"]}


@pytest.mark.parametrize("view", ["parameters", "time"])
def test_charts_of_the_comparison_are_sound(view):
    names = {results.BASE: 0.5, "AttentionPooling": 0.505, "other": 0.51, "last": 0.9}
    figure = ElementTree.fromstring(results.VIEWS[view](compared(names)))
    picture = figure.find("svg")
    assert picture.get("role") == "img" and len(picture.findall("circle")) == 4
    width, height = (float(number) for number in picture.get("viewBox").split()[2:])
    shown = {text.text: text for text in picture.iter("text")}
    assert set(names) <= set(shown)
    heights = sorted(float(shown[name].get("y")) for name in names)
    assert all(b - a >= 15 for a, b in zip(heights, heights[1:], strict=False))
    for text in shown.values():
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


def test_rows_by_heads_are_side_by_side():
    def heads(count, *accuracies):
        entry = row(accuracies[1], None)
        entry["config"]["arguments"] = {"num_heads": count}
        entry["summary"]["validation_accuracy"] = {"mean": accuracies[0]}
        return entry

    rows = {
        "wide": heads(5, 0.7, 0.6),
        "wide, 1 head": heads(1, 0.5, 0.4),
        "narrow, 12 heads": heads(12, 0.3, 0.2),
        "other": row(0.9, None),
    }
    measured = {"measure": "accuracy", "rows": rows}
    assert results.heads_table(measured).split("\n")[2:] == [
        "| 1 | 50.0 | 40.0 | 1 | – | – | – |",
        "| 5 | 70.0 | 60.0 | 1 | – | – | – |",
        "| 12 | – | – | – | 30.0 | 20.0 | 1 |",
    ]
    assert "Not measured" in results.heads_table({**measured, "rows": {"other": rows["other"]}})


def test_the_chart_of_times_compares_what_was_timed_alike():
    """A run on a GPU has no time of a CPU, and each row is given the seeds that all have."""
    measured = compared({results.BASE: 0.5, "AttentionPooling": 0.6, "on a GPU": 0.7})
    other = {"seed": 1, "cpu_seconds": 900.0, "test_accuracy": 0.6}
    measured["rows"]["AttentionPooling"]["runs"].append(other)
    del measured["rows"]["on a GPU"]["runs"][0]["cpu_seconds"]
    spoken = ElementTree.fromstring(results.time_chart(measured)).find("svg").get("aria-label")
    assert "AttentionPooling 60.0 % at 30;" in spoken + ";" and "on a GPU" not in spoken


def test_the_words_on_floors_agree_with_the_figures():
    text = " ".join(source("results.md").split())
    assert "On topics and on long reviews it is as good as anything here or better" in text
    words = "On short questions, graded pairs and sentences of one opinion the networks are ahead"
    assert words in text

    def lead(file):
        measured = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
        linear = next(name for name in results.LINEAR if name in measured["rows"])
        networks = [n for n, e in measured["rows"].items() if "optimizer" in e["config"]]
        return results.mean(measured, linear) - max(results.mean(measured, n) for n in networks)

    for file in ("lama_r8", "hcan_r8", "hcan_imdb_4000", "generalized_pooling_imdb"):
        assert lead(file) > -0.01, file
    for file in ("mpsan_trec", "sam_trec", "mpsan_sick", "generalized_pooling_sick_relatedness"):
        assert lead(file) < -0.02, file
    for file in ("mpsan_sst5", "sam_sst5", "generalized_pooling_sst5"):
        assert lead(file) < -0.02, file


def test_the_words_on_the_comparison_agree_with_the_figures():
    text = " ".join(source("results.md").split())
    reviews, trec = (
        json.loads((RESULTS / f"comparison_{name}.json").read_text(encoding="utf-8"))
        for name in ("reviews", "trec")
    )

    def lead(measured, name):
        return results.mean(measured, name) - results.mean(measured, results.BASE)

    def interval(measured, name):
        return results.paired_interval(measured, name, results.BASE)

    free = ("AttentionPooling", "StructuredSelfAttentionPooling", "MultiDimAttentionPooling")
    free += ("GeneralizedPooling", "GeneralizedPooling, scalar", "ConvAttentionPooling")
    assert "is worth 20 to 23 points over the mean of the same states" in text
    leads = [100 * lead(reviews, name) for name in free]
    assert round(min(leads)) == 20 and round(max(leads)) == 23
    assert "the six poolings lie within three points of one another" in text
    assert max(leads) - min(leads) < 3
    assert "a word that decides outweighs another one in nine cases of ten" in text
    auc = [reviews["rows"][name]["summary"]["test_rationale_auc"]["mean"] for name in free]
    assert 0.88 < min(auc) < 0.95
    assert "Self-attention by convolutions gains as much" in text
    assert min(leads) < 100 * lead(reviews, "ConvMultiHeadAttention") < max(leads)
    assert "weights gain three points there**, which is within the error, and" in text
    assert "with a learned scale six" in text
    assert round(100 * lead(reviews, "LowRankAttentionPooling")) == 3
    assert interval(reviews, "LowRankAttentionPooling")[0] < 0
    assert round(100 * lead(reviews, "LowRankAttentionPooling, learned scale")) == 6
    assert "`SequentialAttention` and self-attention that looks back gain nothing" in text
    for name in ("Sequential", "PositionalSelf", "DirectionalSelf"):
        (name,) = [each for each in reviews["rows"] if each.startswith(f"{name}Attention")]
        assert interval(reviews, name)[0] < 0
    assert "On TREC no mechanism is ahead of the mean by more than its interval" in text
    others = [name for name in trec["rows"] if name != results.BASE]
    assert all(interval(trec, name)[0] <= 0 for name in others)
    assert "The order starts with the same layers" in text
    ranked = sorted(trec["rows"], key=lambda n: -results.mean(trec, n))
    assert set(ranked[:4]) <= {*free, "ConvMultiHeadAttention"}
    assert "Without an encoder the mean is eight points behind" in text
    assert round(100 * lead(trec, "mean of words, no encoder")) == -8
    path = RESULTS / "comparison_sst5.json"
    sst5 = json.loads(path.read_text(encoding="utf-8"))
    assert "On SST-5 two poolings are ahead of the mean by more than their interval" in text
    ahead = [n for n in sst5["rows"] if n != results.BASE and interval(sst5, n)[0] > 0]
    assert sorted(ahead) == ["AttentionPooling", "ConvAttentionPooling"]
    assert "both by two points**" in text
    assert all(round(100 * lead(sst5, name)) == 2 for name in ahead)
    assert "Without an encoder the mean is three points behind" in text
    assert round(100 * lead(sst5, "mean of words, no encoder")) == -3
    path = RESULTS / "comparison_r8.json"
    r8 = json.loads(path.read_text(encoding="utf-8"))
    assert "On R8 four poolings are ahead of the mean by more than their interval" in text
    assert "by one to two points**" in text
    assert "`GeneralizedPooling` with either kind of weights, `StructuredSelfAttentionPool" in text
    assert "and `ConvAttentionPooling`, all with five heads and among those that lead" in text
    ahead = [n for n in r8["rows"] if n != results.BASE and interval(r8, n)[0] > 0]
    layers = {"GeneralizedPooling", "GeneralizedPooling, scalar", "StructuredSelfAttentionPooling"}
    layers |= {"ConvAttentionPooling"}
    assert set(ahead) == {*layers, "TF-IDF, linear"}
    assert all(0.01 < lead(r8, name) < 0.02 for name in layers)
    assert all(lead(reviews, name) > 0.19 for name in layers)
    assert "without an encoder the mean is level with it" in text
    low, high = interval(r8, "mean of words, no encoder")
    assert low < 0 < high
    assert "TF-IDF has the highest mean of all, level with the first of them" in text
    ranked = sorted(r8["rows"], key=lambda n: -results.mean(r8, n))
    assert ranked[0] == "TF-IDF, linear"
    low, high = results.paired_interval(r8, *ranked[:2])
    assert low < 0 < high
    assert "nearly all trainings used all of their 15 epochs" in text
    runs = [r for e in reviews["rows"].values() if "optimizer" in e["config"] for r in e["runs"]]
    assert sum(run["epochs"] == 15 for run in runs) > 0.9 * len(runs)


def test_the_words_on_gaps_agree_with_the_figures():
    text = " ".join(source("results.md").split())
    topics, reviews, documents = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("lama_r8", "lama_imdb_4000", "hcan_imdb_4000")
    )
    lama = "LAMA+ctx"
    assert (
        "the word embeddings 18 points behind LAMA and max pooling over the same BiGRU more" in text
    )
    paper = {row: entry["paper"] for row, entry in topics["rows"].items()}
    assert round(100 * (paper[lama] - paper["AVG"])) == 18 and paper[lama] - paper["BiGRU"] > 0.1
    assert "trained with LAMA's own recipe both are within two points of it" in text
    for row in ("AVG", "BiGRU"):
        assert abs(results.mean(topics, lama) - results.mean(topics, row)) < 0.02
    assert "ahead of the mean by four points where the paper has two and a half" in text
    (claim,) = [c for c in judged(reviews) if (c.better, c.worse) == (lama, "AVG")]
    assert round(100 * claim.difference) == 4 and round(200 * claim.paper) == 5
    assert claim.verdict == "holds"
    assert "ahead of logistic regression by four where it has three" in text
    pair = ("HCAN 2 target", "logistic regression, L1")
    (claim,) = [c for c in judged(documents) if (c.better, c.worse) == pair]
    assert round(100 * claim.difference) == 4 and round(100 * claim.paper) == 3
    assert claim.verdict == "holds"


def test_charts_of_lines_are_sound():
    series = {"wide": {1: 0.81, 3: 0.815, 9: 0.802}, "narrow": {1: 0.79, 9: 0.8}}
    words = results.line_chart({"measure": "accuracy"}, "heads", "By heads.", series)
    picture = ElementTree.fromstring(words).find("svg")
    assert len(picture.findall("circle")) == 5 and len(picture.findall("polyline")) == 2
    assert "narrow: 79.0 % at 1, 80.0 % at 9" in picture.get("aria-label")
    width, height = (float(number) for number in picture.get("viewBox").split()[2:])
    shown = {text.text: text for text in picture.iter("text")}
    assert {"wide", "narrow", "1", "3", "9"} <= set(shown)
    assert float(shown["narrow"].get("y")) - float(shown["wide"].get("y")) >= 15
    for text in shown.values():
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height
    for file, view in (
        ("generalized_pooling_sick_entailment", "heads_chart"),
        ("lama_imdb_4000", "heads_chart"),
        ("sam_trec", "thresholds_chart"),
    ):
        measured = json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8"))
        assert ElementTree.fromstring(results.VIEWS[view](measured)).findall("svg/polyline")


def test_every_need_is_answered_by_what_was_measured():
    files = {p.stem: json.loads(p.read_text(encoding="utf-8")) for p in RESULTS.glob("*.json")}
    for _, file, answer, beside in results.NEEDS:
        assert {answer, *beside} <= set(files[file]["rows"])
    assert results.needs_table(files).count("\n") == len(results.NEEDS) + 1


def test_the_words_on_lama_agree_with_the_figures():
    """The sentences under "How to read this"; they are to be changed when this fails."""
    measured = json.loads((RESULTS / "lama_r8.json").read_text(encoding="utf-8"))
    rows, claims = measured["rows"], results.claims_table(measured).split("\n")
    here = {name: entry["summary"]["test_accuracy"]["mean"] for name, entry in rows.items()}
    paper = {name: entry["paper"] for name, entry in rows.items()}
    text = source("papers/lama.md")
    lama = "LAMA+ctx"

    assert "within two points of the accuracy that the paper gives" in text
    assert abs(here[lama] - paper[lama]) < 0.02
    assert "more than ten points behind" in text and "within two points of LAMA" in text
    for baseline in ("AVG", "BiGRU"):
        assert paper[lama] - paper[baseline] > 0.1
        assert abs(here[lama] - here[baseline]) < 0.02
    assert "A linear classifier on TF-IDF, which the paper does not have, is above\n  every" in text
    assert max(here, key=here.get) == "TF-IDF, linear"
    assert "The Transformer encoder is seven points behind LAMA in the paper" in text
    assert round(100 * (paper[lama] - paper["TE"])) == 7
    assert "and level with it here" in text
    assert abs(here[lama] - here["TE"]) < 0.01
    assert "Structured self-attention is not behind" in text
    assert here["SAN"] >= here[lama]
    assert round(100 * (paper[lama] - paper["SAN"])) == 3
    assert "the one on weights two and a half points behind and the one on the\n  heads' " in text
    assert "vectors fourteen: both are level with the same model without. Nor do they help" in text
    assert round(200 * (paper[lama] - paper["LAMA+ctx+d_p"])) == 5
    assert round(100 * (paper[lama] - paper["LAMA+ctx+d_e"])) == 14
    for penalty in ("d_p", "d_e"):
        (claim,) = [line for line in claims if f"({lama} − {lama}+{penalty})" in line]
        assert "too close to call" in claim
        assert abs(here[lama] - here[f"{lama}+{penalty}"]) < 0.01
    assert "LAMA's encoder alone does as well as the model with a context**" in text
    assert here["LAMA Encoder"] >= here[lama]
    assert 0.03 < paper[lama] - paper["LAMA Encoder"] < 0.035
    tuned = "language model, fine-tuned"
    assert "A fine-tuned language model is as good as TF-IDF**, and a point and a half" in text
    assert abs(here[tuned] - here["TF-IDF, linear"]) < 0.003
    assert 0.0125 < here[tuned] - here[lama] < 0.0175
    assert abs(paper[tuned] - paper[lama]) < 0.005


def test_the_words_on_lama_and_reviews_agree_with_the_figures():
    measured = json.loads((RESULTS / "lama_imdb_4000.json").read_text(encoding="utf-8"))
    here = {name: results.mean(measured, name) for name in measured["rows"]}
    paper = lama_table.PAPER["imdb"]
    text = " ".join(source("papers/lama.md").split())
    lama, penalties = "LAMA+ctx", ("LAMA+ctx+d_e", "LAMA+ctx+d_p")
    scaled, tuned = "LAMA+ctx, learned scale from 5", "language model, fine-tuned"
    verdicts = {
        tuple(c.split("(")[-1].split(")")[0].split(" − ")): c
        for c in results.claims_table(measured).split("\n")[2:]
    }
    assert "ahead of the mean of the words by four points" in text
    assert round(100 * (here[lama] - here["AVG"])) == 4
    assert "holds" in verdicts[lama, "AVG"] and "and of no other baseline" in text
    assert all(here[row] > here[lama] for row in ("BiGRU", "SAN", "CNN", "TE", tuned))
    assert "where the paper has them seven, two and a half and eight behind" in text
    rivals = ("SAN", "CNN", "TE")
    assert [round(200 * (paper[lama] - paper[row])) for row in rivals] == [14, 5, 17]
    for row in rivals:
        assert round(100 * (here[row] - here[lama])) == 2
        assert "**reversed**" in verdicts[lama, row]
        assert abs(here[scaled] - here[row]) < 0.005
    assert "a learned scale gains two points, beyond the error, and is level with the three" in text
    assert round(100 * (here[scaled] - here[lama])) == 2 and "holds" in verdicts[scaled, lama]
    assert "cut off all rows but the Transformer and the language model" in text
    drawn = {n: e["runs"] for n, e in measured["rows"].items() if "optimizer" in e["config"]}
    for row, runs in drawn.items():
        whole = all(run["stopped_by_the_epoch_limit"] for run in runs)
        assert whole == (row not in ("TE", tuned)), row
    assert "hurts**, by six and four points; the paper has seven and nine and a half" in text
    for row, ours, theirs in (("LAMA Encoder", 6, 14), (penalties[0], 4, 19)):
        assert round(100 * (here[lama] - here[row])) == ours and "holds" in verdicts[lama, row]
        assert round(200 * (paper[lama] - paper[row])) == theirs
    assert "The penalty on weights does nothing" in text
    assert abs(here[lama] - here[penalties[1]]) < 0.005
    assert "From one head to twenty validation and test accuracy fall by more than two" in text
    by_heads = [f"LAMA+ctx, {n} head{'s' * (n > 1)}" for n in (1, 5)] + [lama]
    by_heads += ["LAMA+ctx, 15 heads", "LAMA+ctx, 20 heads"]
    for part in ("test", "validation"):
        reached = [measured["rows"][row]["summary"][f"{part}_accuracy"]["mean"] for row in by_heads]
        assert reached == sorted(reached, reverse=True) and reached[0] - reached[-1] > 0.02
    assert "beyond the error between the ends" in text
    assert "**reversed**" in verdicts[by_heads[-1], by_heads[0]]
    assert "Without it LAMA gains nothing beyond the error, on neither set" in text
    assert "a learned scale in its place gains one point on R8, and on reviews two" in text
    free = "LAMA+ctx, no l2"
    assert "too close to call" in verdicts[free, lama]
    topics = json.loads((RESULTS / "lama_r8.json").read_text(encoding="utf-8"))
    found = {claim.better: claim for claim in judged(topics) if claim.worse == lama}
    assert found[free].verdict == "too close to call"
    assert round(100 * found[scaled].difference) == 1
    assert "the mean it has two and a half behind" in text
    assert round(200 * (paper[lama] - paper["AVG"])) == 5
    assert "level there**, three and a half points ahead of all others" in text
    floor = here["TF-IDF, linear"]
    assert abs(here[tuned] - floor) < 0.005
    best = max(here[row] for row in drawn if row != tuned)
    assert round(200 * (floor - best)) == 7
    assert "LAMA with context half a point ahead of BERT" in text
    assert 0.004 < paper[lama] - paper[tuned] < 0.008


def test_the_words_on_generalized_pooling_agree_with_the_figures():
    """The sentences under "How to read this"; they are to be changed when this fails."""
    here = {}
    for name in ("sick_entailment", "sick_relatedness", "sst5", "imdb"):
        path = RESULTS / f"generalized_pooling_{name}.json"
        measured = json.loads(path.read_text(encoding="utf-8"))
        here[name] = {row: results.mean(measured, row) for row in measured["rows"]}
    text = " ".join(source("papers/generalized-pooling.md").split())

    entailment, relatedness = here["sick_entailment"], here["sick_relatedness"]
    assert "ahead of every plain pooling** in the mean of three runs, by up to two" in text
    assert "No single one of these differences is beyond the error" in text
    leads = [entailment["generalized"] - entailment[row] for row in ("max", "mean", "last")]
    assert min(leads) > 0 and round(100 * max(leads)) == 2
    path = RESULTS / "generalized_pooling_sick_entailment.json"
    entailed = json.loads(path.read_text(encoding="utf-8"))
    claims = results.claims_table(entailed).split("\n")[2:]
    assert all("too close to call" in claim for claim in claims)
    by_heads = {
        kind: [
            entailment[kind],
            *(v for row, v in entailment.items() if row.startswith(f"{kind},")),
        ]
        for kind in ("generalized", "scalar")
    }
    assert [len(values) for values in by_heads.values()] == [5, 5]
    every = sum(by_heads.values(), [])
    assert "moves within a point and a half and follows no trend" in text
    assert 0.01 < max(every) - min(every) < 0.015
    assert "as good as five, with less than a third of the parameters" in text
    alone = entailed["rows"]["generalized, 1 head"]
    assert entailment["generalized, 1 head"] > entailment["generalized"] - 0.003
    sizes = [e["parameters_without_embeddings"] for e in (alone, entailed["rows"]["generalized"])]
    assert 3 * sizes[0] < sizes[1]
    assert "generalized pooling and max pooling are level**, and mean pooling is behind" in text
    assert abs(relatedness["generalized"] - relatedness["max"]) < 0.005
    assert min(relatedness["generalized"], relatedness["max"]) > relatedness["mean"]
    assert "Only the lead over the last state is beyond the error" in text
    path = RESULTS / "generalized_pooling_sick_relatedness.json"
    claims = results.claims_table(json.loads(path.read_text(encoding="utf-8"))).split("\n")[2:]
    assert [c for c in claims if "| holds" in c] == [c for c in claims if "− last" in c]
    tfidf, words = "TF-IDF, linear", "mean of words"
    assert "but the last state, penalties and all, lie within a point" in text
    rest = [v for row, v in here["sst5"].items() if row not in ("last", tfidf, words)]
    assert max(rest) - min(rest) < 0.01 and here["sst5"]["last"] < min(rest)
    assert "The mean of the words without a BiLSTM is four points behind" in text
    assert round(100 * (min(rest) - here["sst5"][words])) in (3, 4)
    assert "TF-IDF is level on entailment and far ahead on reviews" in text
    assert abs(entailment[tfidf] - entailment["generalized"]) < 0.02
    networks = [v for row, v in here["imdb"].items() if row not in (tfidf, words)]
    assert here["imdb"][tfidf] - max(networks) > 0.05
    assert "On relatedness and SST-5 it is behind" in text
    assert "two points behind generalized pooling on entailment and four on relatedness" in text
    assert round(100 * (entailment["generalized"] - entailment[words])) == 2
    assert round(100 * (relatedness["generalized"] - relatedness[words])) == 4
    assert relatedness[tfidf] < min(v for row, v in relatedness.items() if row != tfidf)
    assert here["sst5"][tfidf] < min(rest)
    imdb = here["imdb"]
    assert "On reviews generalized pooling and max pooling are level** again" in text
    assert abs(imdb["generalized"] - imdb["max"]) < 0.005
    assert min(imdb["generalized"], imdb["max"]) - imdb["mean"] > 0.01
    assert imdb["mean"] - imdb["last"] > 0.04
    assert "On reviews no penalty can be told from chance**: that on the attention" in text
    assert "a point and a half ahead of the model without" in text
    assert "and so is self-attention; but the row whose penalty is exactly zero is more" in text
    for row in ("+ attention", "self-attention"):
        assert 1.25 < 100 * (imdb[row] - imdb["generalized"]) < 1.75
    assert 0.01 < imdb["+ parameter matrices"] - imdb["generalized"]
    assert "do not beat scalar attention** of five heads on any set but entailment" in text
    assert entailment["generalized"] > entailment["scalar"]
    assert all(
        here[name]["scalar"] > here[name]["generalized"]
        for name in here
        if here[name] is not entailment
    )
    assert "The penalty on the attention gives the best row on entailment" in text
    assert max(entailment, key=entailment.get) == "+ attention"
    assert "On relatedness it and the penalty on the sentence vectors are a point ahead" in text
    for row in ("+ attention", "+ sentence vectors"):
        assert round(100 * (relatedness[row] - relatedness["generalized"])) == 1
    assert "It comes out four tenths of a point apart" in text
    assert round(1000 * abs(entailment["+ parameter matrices"] - entailment["generalized"])) == 4
    same = [
        [run["test_accuracy"] for run in entailed["rows"][row]["runs"]]
        for row in ("+ parameter matrices", "generalized")
    ]
    assert "up to two and a half points apart" in text
    assert round(200 * max(abs(a - b) for a, b in zip(*same, strict=True))) == 5
    assert round(100 * (entailment["+ attention"] - entailment["generalized"])) == 1


def test_the_words_on_mpsan_agree_with_the_figures():
    """The sentences under "How to read this"; they are to be changed when this fails."""
    here = {}
    for name in ("trec", "sst5", "subj", "sick"):
        measured = json.loads((RESULTS / f"mpsan_{name}.json").read_text(encoding="utf-8"))
        here[name] = {row: results.mean(measured, row) for row in measured["rows"]}
    text = flat = " ".join(source("papers/mpsan.md").split())
    trec, sst5 = here["trec"], here["sst5"]

    assert "it is three points ahead of the same model without positions" in text
    questions = json.loads((RESULTS / "mpsan_trec.json").read_text(encoding="utf-8"))
    over = {claim.worse: claim.verdict for claim in judged(questions) if claim.better == "MPSAN"}
    assert "multi-head attention with sinusoidal positions, beyond the error" in " ".join(
        text.split()
    )
    for other in ("no positions", "multi-head"):
        assert round(100 * (trec["MPSAN"] - trec[other])) == 3 and over[other] == "holds"
    assert "not ahead of DiSAN or a Bi-LSTM** in classification, and level with Bi-BloSAN" in text
    assert "on SST-5 and SUBJ DiSAN and the Bi-LSTM have the higher means" in flat
    others = ("DiSAN", "Bi-BloSAN", "Bi-LSTM")
    for name in ("trec", "sst5", "subj"):
        for other in {"DiSAN", "Bi-LSTM"} & set(here[name]):
            assert here[name]["MPSAN"] <= here[name][other]
        measured = json.loads((RESULTS / f"mpsan_{name}.json").read_text(encoding="utf-8"))
        claims = results.claims_table(measured).split("\n")[2:]
        firsts = [c for c in claims if any(f"(MPSAN − {other})" in c for other in others)]
        assert firsts and all("too close to call" in claim for claim in firsts)
    words = "over ten folds, it is a point and a half ahead of multi-head attention and nearly one"
    assert f"{words} ahead of the model without positions, both beyond the error" in flat
    subj = json.loads((RESULTS / "mpsan_subj.json").read_text(encoding="utf-8"))
    assert all(len(subj["rows"][row]["runs"]) == 10 for row in ("MPSAN", "multi-head"))
    lead = here["subj"]["MPSAN"] - here["subj"]["multi-head"]
    assert round(200 * lead) == 3
    assert 0.006 < here["subj"]["MPSAN"] - here["subj"]["no positions"] < 0.0095
    over = {claim.worse: claim.verdict for claim in judged(subj) if claim.better == "MPSAN"}
    assert over["multi-head"] == over["no positions"] == "holds"
    assert "On TREC and over the ten folds of SUBJ these four lie within a point" in flat
    for rows in (trec, here["subj"]):
        four = [rows[row] for row in ("MPSAN", *others)]
        assert max(four) - min(four) < 0.01
    assert all(len(subj["rows"][row]["runs"]) == 10 for row in others)
    measured = json.loads((RESULTS / "mpsan_sst5.json").read_text(encoding="utf-8"))
    assert "over three runs all rows with attention lie within three points" in flat
    drawn = {row: e for row, e in measured["rows"].items() if "optimizer" in e["config"]}
    assert all(len(entry["runs"]) == 3 for entry in drawn.values())
    attending = [sst5[row] for row in drawn if row != "w/o attention"]
    assert 0.025 < max(attending) - min(attending) < 0.03
    assert "the runs of the Bi-LSTM alone six points apart" in flat
    of_runs = drawn["Bi-LSTM"]["summary"]["test_accuracy"]
    assert round(100 * (of_runs["max"] - of_runs["min"])) == 6
    assert "only that of attention to the mean of the words is beyond the error" in flat
    apart = [c for c in judged(measured) if not c.verdict.startswith("too close to call")]
    assert [(c.better, c.worse, c.verdict) for c in apart] == [
        ("no positions", "w/o attention", "holds")
    ]
    assert "Windows alone (model 3) have the highest mean, two points ahead of model 0" in flat
    assert max(sst5, key=sst5.get) == "model 3"
    assert round(100 * (sst5["model 3"] - sst5["no positions"])) == 2
    paper = {row: entry["paper"] for row, entry in drawn.items()}
    assert round(100 * (paper["model 3"] - paper["no positions"])) == 2
    assert "four attentions do not gain on two any more" in flat
    four_masks = max(sst5[row] for row in ("MPSAN", "model 4", "mul + FG"))
    assert max(sst5["model 1"], sst5["model 2"], sst5["model 3"]) > four_masks
    assert 0.005 < paper["MPSAN"] - max(paper[f"model {n}"] for n in (1, 2, 3)) < 0.01
    assert "a point or more ahead of DiSAN and the Bi-LSTM, not established either" in flat
    sick = json.loads((RESULTS / "mpsan_sick.json").read_text(encoding="utf-8"))
    found = {claim.worse: claim for claim in judged(sick) if claim.better == "MPSAN"}
    for row in ("Bi-LSTM", "DiSAN"):
        assert round(100 * found[row].difference) in (1, 2)
        assert found[row].verdict == "too close to call"
    six = ("Bi-LSTM", "TextCNN", "multi-head", "DiSAN", "Bi-BloSAN")
    assert "Its squared error is the lowest of the paper's six models, by" in flat
    error = {row: entry["summary"]["test_mse"]["mean"] for row, entry in sick["rows"].items()}
    assert "by five hundredths or more, and the paper has it the lowest too" in flat
    assert round(100 * min(error[row] - error["MPSAN"] for row in six)) == 5
    published = sick["published"]["test_mse"]
    assert all(published["MPSAN"] < published[row] for row in six)
    assert "ahead of multi-head attention and Bi-BloSAN beyond the error" in flat
    assert found["multi-head"].verdict == found["Bi-BloSAN"].verdict == "holds"
    assert "and of the CNN by as much" in flat
    pearson = here["sick"]
    assert abs(pearson["multi-head"] - pearson["TextCNN"]) < 0.005
    assert "The same model without positions is better still in all three measures" in flat
    for measure, sign in (("pearson", 1), ("spearman", 1), ("mse", -1)):
        means = [
            sick["rows"][row]["summary"][f"test_{measure}"]["mean"]
            for row in ("no positions", "MPSAN")
        ]
        assert sign * (means[0] - means[1]) > 0
    assert "The mean of the words is three points behind MPSAN" in flat
    assert round(100 * (pearson["MPSAN"] - pearson["w/o attention"])) == 3
    assert "All are behind the paper" in flat
    assert all(
        pearson[row] < entry["paper"] for row, entry in sick["rows"].items() if entry["paper"]
    )
    times = json.loads((RESULTS / "mpsan_sst5.json").read_text(encoding="utf-8"))["epoch_times"]
    relative = {row: each["relative"][0] for row, each in times.items()}
    assert set(times) == set(mpsan_table.TIMED)
    assert "the Bi-LSTM takes half of MPSAN's epoch, where the paper has nearly five" in flat
    assert 0.4 < relative["Bi-LSTM"] < 0.6 and 4.5 < times["Bi-LSTM"]["paper"] < 5
    assert "cost as much again with two masks and more with four, where the paper has" in flat
    for gates, weights in (("B&F + FG", "model 1"), ("mul + FG", "MPSAN")):
        assert times[gates]["paper"] / times[weights]["paper"] < 1.4
    assert 1.5 < relative["B&F + FG"] / relative["model 1"] < 2.2
    assert relative["mul + FG"] > 2.2
    assert "cost three times MPSAN's epoch there and more" in flat
    assert 3 < times["DiSAN"]["relative"][0] < 4
    gpu = json.loads((RESULTS / "mpsan_sst5.json").read_text(encoding="utf-8"))
    gpu = gpu["epoch_times_nvidia_h100_80gb_hbm3"]
    assert "On a GPU of today DiSAN is the faster one**, by a third" in flat
    assert abs(gpu["DiSAN"]["relative"][0] - 2 / 3) < 0.05
    assert "Bi-BloSAN is a third slower than MPSAN there, a fifth in the paper" in flat
    assert abs(gpu["Bi-BloSAN"]["relative"][0] - 4 / 3) < 0.05
    assert abs(gpu["Bi-BloSAN"]["paper"] - 6 / 5) < 0.05
    assert (
        "MPSAN first on SST-5, first with Bi-BloSAN on TREC, and a tenth of a point behind" in flat
    )
    tables = {name: task.paper for name, task in mpsan_table.TASKS.items()}
    for name, best in (("sst5", 52.53), ("trec", 94.8)):
        assert tables[name]["MPSAN"] == best
        assert best == max(tables[name][row] for row in ("MPSAN", "multi-head", *others))
    assert tables["trec"]["Bi-BloSAN"] == 94.8
    assert round(tables["subj"]["Bi-LSTM"] - tables["subj"]["MPSAN"], 3) == 0.1


def drawn_rows(measured):
    """The entries that chance has a part in."""
    return [entry for entry in measured["rows"].values() if "optimizer" in entry["config"]]


def test_the_words_on_sam_agree_with_the_figures():
    """The sentences under "How to read this"; they are to be changed when this fails."""
    measured = {
        name: json.loads((RESULTS / f"sam_{name}.json").read_text(encoding="utf-8"))
        for name in ("trec", "subj")
    }
    here = {n: {row: results.mean(m, row) for row in m["rows"]} for n, m in measured.items()}
    trec, subj = here["trec"], here["subj"]
    text = " ".join(source("papers/sam.md").split())
    mean, first, attention = "language model, mean", "language model", "AttentionPooling"

    assert "On TREC it is level with RBA and DiSAN and less than a point ahead of RB" in text
    assert 0 < trec["SAM"] - trec["RB"] < 0.01
    for row in ("RBA", "DiSAN"):
        assert abs(trec["SAM"] - trec[row]) < 0.005
    assert "All that is within the error" in text
    for m in measured.values():
        for row in ("RB", "RBA", "DiSAN"):
            assert re.search(rf"\(SAM − {row}\).*too close to call", results.claims_table(m))
    assert "on SUBJ it is within half a point of RB and RBA" in text
    three = [subj[row] for row in ("SAM", "RB", "RBA")]
    assert max(three) - min(three) < 0.005
    assert "the mean is 18 points better on TREC" in text
    assert round(100 * (trec[mean] - trec[first])) == 18
    assert "SAM gains four and a half points on TREC and one on SUBJ" in text
    assert abs(trec["SAM"] - trec[mean] - 0.045) < 0.003
    assert round(100 * (subj["SAM"] - subj[mean])) == 1
    assert "come within two points of the best on both sets" in text
    for rows in (trec, subj):
        for row in (attention, "SAM, no BiLSTM"):
            assert max(rows.values()) - rows[row] <= 0.02
    assert "6 % of the weights or less; an epoch takes about a tenth of the time" in text
    for m in measured.values():
        entries = m["rows"]
        seconds = {row: entries[row]["runs"][0]["seconds_per_epoch"] for row in entries}
        for row in (attention, "SAM, no BiLSTM"):
            sizes = [entries[r]["parameters_without_embeddings"] for r in (row, "RB")]
            assert sizes[0] < 0.06 * sizes[1] and seconds[row] * 7 < seconds["RB"]
    assert "each have the paper's sign on SST-5" in text
    assert "with five folds, none of them makes a difference of more than half a point" in text
    for other in ("SAM -FAM", "SAM -TAM", "SAM TAM+FAM", "SAM 0.1"):
        for rows in (trec, subj):
            assert abs(rows["SAM"] - rows[other]) < 0.005
        for m in measured.values():
            verdict = rf"\(SAM − {re.escape(other)}\).*too close to call"
            assert re.search(verdict, results.claims_table(m))
    assert "on TREC 0.1, 0.2 and 0.4 are level with none" in text
    assert all(abs(trec[f"SAM {delta}"] - trec["SAM"]) < 0.005 for delta in (0.1, 0.2, 0.4))
    assert "best, four tenths of a point above none, ours is seven tenths below, within" in text
    assert round(1000 * (trec["SAM"] - trec["SAM 0.15"])) == 7
    verdict = r"\(SAM 0.15 − SAM\) \| \+0.4 .*too close to call"
    assert re.search(verdict, results.claims_table(measured["trec"]))
    assert round(sam_table.PAPER["trec"]["SAM 0.15"] - sam_table.PAPER["trec"]["SAM"], 2) == 0.4
    assert "At 0.6 one fold of five learns nothing, at 0.8 none does" in text
    for delta, expected in ((0.6, 1), (0.8, 5)):
        runs = measured["trec"]["rows"][f"SAM {delta}"]["runs"]
        assert sum(run["test_accuracy"] < 0.25 for run in runs) == expected
    times = {row: t["relative"][0] for row, t in measured["subj"]["epoch_times"].items()}
    assert "SAM costs what the BiLSTMs cost**, to a tenth, and DiSAN twice that" in text
    assert 1 < times["SAM"] < 1.1 and 1.9 < times["DiSAN"] < 2.3
    gpu = measured["subj"]["epoch_times_nvidia_h100_80gb_hbm3"]
    assert "SAM takes a fifth more than the BiLSTMs, and DiSAN as long as they do" in text
    assert 1.15 < gpu["SAM"]["relative"][0] < 1.25 and 0.95 < gpu["DiSAN"]["relative"][0] < 1.05
    assert "on SUBJ two to four points behind" in text
    for row, entry in measured["trec"]["rows"].items():
        assert row == first or entry["paper"] is None or trec[row] > entry["paper"] - 0.001
    entries = measured["subj"]["rows"].items()
    gaps = [e["paper"] - subj[row] for row, e in entries if e["paper"] and row != first]
    assert 0.015 < min(gaps) and max(gaps) < 0.045
    sst5, humor, controversy = (
        json.loads((RESULTS / f"sam_{name}.json").read_text(encoding="utf-8"))
        for name in ("sst5", "humor", "controversy")
    )
    assert "On SST-5 SAM is the best row on frozen states, by less than a point**" in text
    shares = {row: results.mean(sst5, row) for row in sst5["rows"]}
    tuned = f"{first}, fine-tuned"
    fine = [f"{row}, fine-tuned" for row in (first, "RB", "RBA", "SAM")]
    frozen = {row: share for row, share in shares.items() if row not in fine}
    assert max(frozen, key=frozen.get) == "SAM"
    claims = results.claims_table(sst5).split("\n")
    for row in ("RB", "RBA", "DiSAN"):
        assert 0 < shares["SAM"] - shares[row] < 0.01
        (line,) = [line for line in claims if f"(SAM − {row})" in line]
        assert "too close to call" in line
    assert "A single run had it three points ahead of the BiLSTMs" in text
    lone = {row: sst5["rows"][row]["runs"][0]["test_accuracy"] for row in ("SAM", "RB", "RBA")}
    assert all(0.025 < lone["SAM"] - lone[row] < 0.04 for row in ("RB", "RBA"))
    assert "Six of them come back when MiniLM is" in text
    assert round(100 * (shares[fine[3]] - shares["SAM"])) == 6
    assert "Fifteen points of the paper's figure are missing" in text
    assert round(100 * (sst5["rows"]["SAM"]["paper"] - shares["SAM"])) == 15
    parts = ("SAM -FAM", "SAM -TAM", "SAM TAM+FAM", "SAM 0.1")
    assert "all by less than a point and within the error" in text
    assert all(0 < shares["SAM"] - shares[other] < 0.01 for other in parts)
    for other in parts:
        (line,) = [line for line in claims if f"(SAM − {other})" in line]
        assert "too close to call" in line
    jokes = {row: results.mean(humor, row) for row in humor["rows"]}
    words = "is level on SST-5 and humor, and the best row of SUBJ"
    assert f"DiSAN on the language model {words}" in text
    assert "ahead of these two by half a point to a point on both, and of DiSAN by a point" in text
    for rows in (measured["trec"]["rows"], measured["subj"]["rows"]):
        leads = {row: rows["SAM"]["paper"] - rows[row]["paper"] for row in ("RB", "RBA", "DiSAN")}
        assert all(0.0035 < leads[row] < 0.0105 for row in ("RB", "RBA"))
        assert 0.0145 < leads["DiSAN"] < 0.0175
    assert "it behind on SST, CR, SUBJ and TREC" in text
    with_it = [name for name, rows in sam_table.PAPER.items() if "DiSAN" in rows]
    assert sorted(with_it) == ["cr", "sst5", "subj", "trec"]
    assert max(subj, key=subj.get) == "DiSAN"
    for measured_there in (sst5, humor):
        claims_there = results.claims_table(measured_there).split("\n")
        (claim,) = [line for line in claims_there if "(SAM − DiSAN)" in line]
        assert "too close to call" in claim
    for there in (*measured.values(), sst5):
        assert there["rows"]["DiSAN"]["paper"] < there["rows"]["SAM"]["paper"]
    assert "level with the BiLSTMs, three points ahead of the states' mean" in text
    assert 0.025 < jokes["SAM"] - jokes[mean] < 0.04
    for row in ("RB", "RBA"):
        (line,) = [c for c in results.claims_table(humor).split("\n") if f"(SAM − {row})" in c]
        assert "too close to call" in line
    assert "seven points behind the paper's" in text
    assert round(100 * (humor["rows"]["SAM"]["paper"] - jokes["SAM"])) == 7
    assert "None of its parts makes a difference beyond the error" in text
    for other in parts:
        (line,) = [c for c in results.claims_table(humor).split("\n") if f"(SAM − {other})" in c]
        assert "too close to call" in line
    assert "all rows are near guessing" in text
    right = {r: e["summary"]["test_accuracy"]["mean"] for r, e in controversy["rows"].items()}
    assert max(right.values()) < 0.56
    assert "the four fine-tuned rows are the lowest by F1 and the best by accuracy" in text
    assert set(sorted(right, key=lambda row: results.mean(controversy, row))[:4]) == set(fine)
    assert set(sorted(right, key=right.get)[-4:]) == set(fine)
    assert "TREC and SUBJ have the paper's five folds" in text
    for m in measured.values():
        assert {len(entry["runs"]) for entry in drawn_rows(m)} == {5}
    assert "gains eleven points by it on SST-5 and on humor, and is four ahead of SAM" in text
    for rows in (shares, jokes):
        assert round(100 * (rows[tuned] - rows[first])) == 11
        assert round(100 * (rows[tuned] - rows["SAM"])) == 4
    assert (
        "SAM is first on SST-5**, one to two points ahead of the others: two to five times" in text
    )
    for row in fine[:3]:
        ahead = shares[fine[3]] - shares[row]
        there = sst5["rows"][fine[3]]["paper"] - sst5["rows"][row]["paper"]
        assert 0.0095 < ahead < 0.02 and 2 < ahead / there < 5.5
        (line,) = [line for line in claims if f"({fine[3]} − {row})" in line]
        assert "too close to call" in line
    assert "On humor the four rows are level" in text
    assert max(jokes[row] for row in fine) - min(jokes[row] for row in fine) < 0.005
    assert "Most of these rows have two runs" in text
    counts = [len(sst5["rows"][row]["runs"]) + len(humor["rows"][row]["runs"]) for row in fine]
    assert sum(count == 4 for count in counts) >= 3
    assert "nine to ten points behind the paper's RoBERTa on SST-5 and two to three" in text
    for found, rows, low, high in ((sst5, shares, 0.09, 0.106), (humor, jokes, 0.02, 0.034)):
        assert all(low < found["rows"][row]["paper"] - rows[row] < high for row in fine)
    assert "most of the BiLSTMs were best after the first or second epoch" in text
    runs = [run for row in ("SAM", "RB", "RBA") for run in measured["subj"]["rows"][row]["runs"]]
    assert sum(run["best_epoch"] <= 2 for run in runs) > 0.75 * len(runs)


def test_the_words_on_hcan_agree_with_the_figures():
    """The sentences under "How to read this"; they are to be changed when this fails."""
    measured = {
        name: json.loads((RESULTS / f"hcan_{name}.json").read_text(encoding="utf-8"))
        for name in ("imdb_4000", "r8")
    }
    text = source("papers/hcan.md")
    here = {n: {row: results.mean(m, row) for row in m["rows"]} for n, m in measured.items()}

    flat = " ".join(text.split())
    tables = measured | {
        name: json.loads((RESULTS / f"hcan_{name}.json").read_text(encoding="utf-8"))
        for name in ("imdb", "imdb_stars")
    }
    verdicts = {
        name: {
            tuple(c.split("(")[-1].split(")")[0].split(" − ")): c
            for c in results.claims_table(m).split("\n")[2:]
        }
        for name, m in tables.items()
    }
    reviews, r8 = here["imdb_4000"], here["r8"]
    whole, rated = (
        {row: results.mean(tables[n], row) for row in tables[n]["rows"]}
        for n in ("imdb", "imdb_stars")
    )
    assert "by nearly three points on 4,000 reviews and by one and a half to two on R8" in flat
    assert 0.025 < reviews["linear SVM"] - reviews["HCAN 2 target"] < 0.03
    assert 0.0125 < r8["linear SVM"] - r8["HCAN 2 target"] < 0.0225
    assert "behind TextCNN by about one on both, all but the last on reviews beyond the" in flat
    for name, rows in here.items():
        assert 0.0075 < rows["TextCNN"] - rows["HCAN 2 target"] < 0.0125
        claim = verdicts[name]["HCAN 2 target", "TextCNN"]
        assert "| +2.0 |" in claim and ("**reversed**" in claim) == (name == "r8")
        assert "**reversed**" in verdicts[name]["HCAN 2 target", "linear SVM"]
    assert set(whole) == set(hcan_table.rows("imdb"))
    drawn = [e for e in tables["imdb"]["rows"].values() if "optimizer" in e["config"]]
    assert all(len(entry["runs"]) == 3 for entry in drawn)
    assert tables["imdb"]["examples"] == [9000, 1000, 8000]
    assert "all rows that have one are ahead of all that read the review as one sequence" in flat
    tall = [v for row, v in whole.items() if row.startswith("HCAN")]
    assert len(tall) == 5
    assert min(tall) > max(v for row, v in whole.items() if row.startswith("CAN"))
    assert "it gains half a point to a point, with two self-attentions beyond the error" in flat
    for k, pooling in itertools.product((1, 2), ("max", "target")):
        pair = f"HCAN {k} {pooling}", f"CAN {k} {pooling}"
        assert 0.0035 < whole[pair[0]] - whole[pair[1]] < 0.0125
        assert ("| holds" in verdicts["imdb"][pair]) == (k == 2)
    assert "HAN, the CNN and the linear SVM are about half a point ahead of it or less" in flat
    for row in ("HAN", "TextCNN", "linear SVM"):
        assert 0 < whole[row] - whole["HCAN 2 target"] < 0.006
        assert "too close to call" in verdicts["imdb"]["HCAN 2 target", row]
    assert "**One self-attention does as well as two**" in text
    assert "all nine comparisons on 4,000 and 9,000 reviews and on the ratings are within" in flat
    for name in ("imdb_4000", "imdb_stars", "imdb"):
        for kind in ("HCAN {} target", "HCAN {} max", "CAN {} target"):
            assert "too close to call" in verdicts[name][kind.format(2), kind.format(1)]
    linear = ("linear SVM", "logistic regression, L1", "Naive Bayes")
    networks = {row: v for row, v in reviews.items() if row not in linear}
    assert "HAN is the best network on 4,000 reviews**, level with HCAN that pools by" in flat
    assert max(networks, key=networks.get) == "HAN"
    assert all(reviews["HAN"] - reviews[f"HCAN {k} max"] < 0.006 for k in (1, 2))
    assert "target attention, beyond the error where that has two self-attentions" in flat
    assert all(round(100 * (reviews["HAN"] - reviews[f"HCAN {k} target"])) == 2 for k in (1, 2))
    assert "**reversed**" in verdicts["imdb_4000"]["HCAN 2 target", "HAN"]
    one = results.paired_interval(tables["imdb_4000"], "HCAN 1 target", "HAN")
    assert one[0] < 0 < one[1]
    assert "On R8 it is level with HCAN" in flat
    assert "too close to call" in verdicts["r8"]["HCAN 2 target", "HAN"]
    assert "one run of three that is three to six points behind the others" in flat
    for row in ("HCAN 1 target", "HCAN 2 target", "CAN 2 target", "CAN 2 max"):
        runs = sorted(tables["imdb_4000"]["rows"][row]["runs"], key=lambda r: r["test_accuracy"])
        shares = [run["test_accuracy"] for run in runs]
        assert 0.03 < shares[1] - shares[0] < 0.06 and shares[2] - shares[1] < 0.015, row
        assert runs[0]["best_epoch"] <= 3 < min(run["best_epoch"] for run in runs[1:])
    assert "A single run each had the hierarchy five points ahead" in flat
    first = {n: e["runs"][0]["test_accuracy"] for n, e in tables["imdb_4000"]["rows"].items()}
    assert round(100 * (first["HCAN 2 target"] - first["CAN 2 target"])) == 5
    assert "with three, no part of HCAN is ahead beyond the error" in flat
    assert "two of their eleven comparisons leave the error, both against CAN 2 max" in flat
    for name, beyond in (("imdb_4000", 0), ("imdb_stars", 2)):
        parts = {rows: c for rows, c in verdicts[name].items() if "CAN" in rows[1]}
        apart = [rows[1] for rows, c in parts.items() if "too close to call" not in c]
        assert len(parts) == 11 and apart == ["CAN 2 max"] * beyond
    eight = [v for row, v in rated.items() if "CAN" in row and "code" not in row]
    assert len(eight) == 8 and min(eight) == rated["CAN 2 max"]
    networks = {row: v for row, v in rated.items() if row not in linear}
    assert max(networks, key=networks.get) == "CAN 1 target"
    assert abs(rated["CAN 1 target"] - rated["linear SVM"]) < 0.005
    assert "too close to call" in verdicts["imdb_stars"]["HCAN 2 target", "HAN"]
    assert round(200 * (rated["HCAN 2 target"] - rated["TextCNN"])) == 5
    assert "holds" in verdicts["imdb_stars"]["HCAN 2 target", "TextCNN"]
    assert "on R8 most rows were still improving at the epoch limit" in flat
    drawn = [e for e in measured["r8"]["rows"].values() if "optimizer" in e["config"]]
    runs = [run for entry in drawn for run in entry["runs"]]
    assert sum(run["stopped_by_the_epoch_limit"] for run in runs) > len(runs) / 2

    torch, tensorflow = (measured["imdb_4000"][f"times_{b}"] for b in ("torch", "tensorflow"))
    padded, one = "HCAN, padded", "HCAN, one document at a time"
    assert "twice as fast as padded ones with PyTorch" in flat
    assert 1.75 < torch[padded]["relative"][0] < 2.4
    assert "nearly three times as fast with TensorFlow" in flat
    assert 2.6 < tensorflow[padded]["relative"][0] < 3
    assert "takes about four times as long" in flat
    assert round(torch[one]["relative"][0]) == round(tensorflow[one]["relative"][0]) == 4
    gpu = measured["imdb_4000"]["times_torch_nvidia_h100_80gb_hbm3"]
    assert "on a GPU, one document at a time, five sixths" in flat
    assert abs(gpu["HAN, one document at a time"]["relative"][0] - 5 / 6) < 0.04
    assert "What TextCNN takes is the paper's" in flat
    cnn = gpu["TextCNN, one document at a time"]
    assert abs(cnn["relative"][0] - cnn["paper"]) < 0.03
    assert "fifteen times as fast as one document at a time when packed, and thirty" in flat
    assert abs(1 / gpu["HCAN"]["relative"][0] - 15) < 2
    assert abs(1 / gpu[padded]["relative"][0] - 30) < 3
    assert "with PyTorch it takes two thirds of HCAN's time, with TensorFlow the same" in flat
    assert abs(torch["HAN"]["relative"][0] - 2 / 3) < 0.05
    assert abs(tensorflow["HAN"]["relative"][0] - 1) < 0.05
    assert "the four rows over the whole story are ahead of all that have a hierarchy" in flat
    flat_rows = [v for row, v in r8.items() if row.startswith("CAN")]
    assert len(flat_rows) == 4
    assert min(flat_rows) > max(v for row, v in r8.items() if row.startswith("HCAN"))
    assert "CAN 2 max first and level with the linear SVM" in flat
    assert max(r8, key=r8.get) == "CAN 2 max" and r8["CAN 2 max"] - r8["linear SVM"] < 0.003
    assert "in three of four pairs beyond the error, where the paper has it ahead in" in flat
    for k, pooling in itertools.product((1, 2), ("max", "target")):
        pair = f"HCAN {k} {pooling}", f"CAN {k} {pooling}"
        assert 0 < r8[pair[1]] - r8[pair[0]] < 0.0125
        assert ("**reversed**" in verdicts["r8"][pair]) == (pair[0] != "HCAN 1 max")
        assert ("| +" in verdicts["r8"][pair]) == (pair[0] != "HCAN 1 max")


# --- speed -------------------------------------------------------------------------------------


def measured_costs(kind, backend):
    """A file of the speed benchmark on a CPU."""
    return json.loads(
        (RESULTS / "speed" / f"{kind}_{backend}_cpu.json").read_text(encoding="utf-8")
    )


def test_the_speed_page_is_written_from_the_results():
    page = source("speed.md")
    filled = speed.fill(page, RESULTS)
    assert "<!-- speed:" not in filled and filled.count("\n    |") > 100
    assert {match["view"] for match in speed.MARKER.finditer(page)} <= set(speed.VIEWS)
    # Ratios, never times of some machine.
    assert not re.search(r"\d (ms|seconds?|µs)\b", filled)


def test_the_chart_of_costs_is_sound():
    figure = ElementTree.fromstring(speed.chart(measured_costs("speed", "jax")))
    picture = figure.find("svg")
    assert picture.get("role") == "img" and len(picture.get("aria-label")) > 40
    assert len(picture.findall("polyline")) == len(speed.DRAWN)
    width, height = (float(number) for number in picture.get("viewBox").split()[2:])
    for text in picture.iter("text"):
        assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height


def test_what_can_be_exported_is_a_table_with_its_refusals(tmp_path):
    found = {
        "date": "2026-11-01",
        "versions": {"keras": "3"},
        "formats": {
            "onnx": {"one": "same numbers", "two": "Bad: no `op`"},
            "litert": {"one": "static length only"},
        },
    }
    (tmp_path / "export_torch.json").write_text(json.dumps(found), encoding="utf-8")
    page = "a\n\n    <!-- support: torch -->\n\n<!-- support: jax -->\n"
    filled = support.fill(page, tmp_path)
    assert "\n    | `one` | yes | length fixed |\n    | `two` | **no** (1) | not tried |" in filled
    assert "\n    1. `Bad: no op`" in filled and "2026-11-01, with keras 3." in filled
    assert support.MISSING in filled and "<!--" not in filled


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_the_words_on_speed_agree_with_the_figures(backend):
    """The sentences of the page; they are to be changed when this fails."""
    text = " ".join(source("speed.md").split())
    (case,) = [
        case
        for case in measured_costs("speed", backend)["cases"]
        if speed.words_of(case).startswith("32 × 256 words, dim 128, 5 heads")
        and case["gradient"]
        and case["mode"] == measured_costs("speed", backend)["cases"][0]["mode"]
    ]
    assert "together cost a fifth of self-attention or less" in text
    assert case["ratios"]["LowRankAttentionPooling"][speed.ATTENTION][0] > 5
    assert "is the dearest by far" in text
    costs = {layer: case["costs"][layer][0] for layer in case["ratios"]}
    dearest = max(costs, key=costs.get)
    assert dearest == "DirectionalSelfAttention"
    assert all(costs[dearest] > 3 * cost for layer, cost in costs.items() if layer != dearest)
    # Both compute the same.
    assert "both compute the same" in text
    for each in measured_costs("speed", backend)["cases"]:
        if each["precision"] == "float32":
            assert max(each["differences"].values(), default=0) < 1e-4


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_the_words_on_memory_agree_with_the_figures(backend):
    text = " ".join(source("speed.md").split())
    assert "Every pooling layer takes these texts in less than 2 GB; on JAX" in text
    cases = measured_costs("memory", backend)["cases"]
    long = {case["variant"]: case.get("bytes") for case in cases if case["time"] == 16384}
    pooling = [
        name for name in long if hasattr(layers, name.partition(",")[0]) and "Pooling" in name
    ]
    assert len(pooling) > 8
    for name in pooling:
        if (backend, name) != ("jax", "GeneralizedPooling"):
            assert long[name] < 2 * 2**30, name
    near, every = (f"PositionalSelfAttention, {which} words" for which in ("near", "all"))
    assert long[every] is None or long[every] > 5 * long[near]


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        ({"bytes": 5 * 2**20}, "5 MB"),
        ({"left_out": "would hold 3 GiB"}, "would hold 3 GiB"),
        (
            {"failed": ["ValueError: a peer: 5 heads do not divide 512"]},
            "5 heads do not divide 512",
        ),
        ({"failed": ["exit -9"]}, "more than there was"),
        ({"failed": ["out of memory"]}, "more than there was"),
    ],
)
def test_memory_that_was_not_measured_has_its_reason(case, shown):
    assert speed.memory_text(case) == shown


def test_the_words_on_the_speed_of_a_gpu_agree_with_the_figures():
    text = " ".join(source("speed.md").partition("## GPU")[2].split())
    path = RESULTS / "speed" / "speed_torch_nvidia_h100_80gb_hbm3.json"
    gpu = json.loads(path.read_text(encoding="utf-8"))
    by_length = {case["time"]: case for case in speed.series(gpu)}
    lama = {
        time: case["ratios"]["LowRankAttentionPooling"].get(speed.ATTENTION)
        for time, case in by_length.items()
    }
    assert "is not as far ahead of self-attention as on a CPU" in text
    assert lama[256][0] < 2
    assert "cost a quarter of self-attention at 1,024 words, and a twelfth at 4,096" in text
    assert round(lama[1024][0]) == 4 and round(lama[4096][0]) == 12
    whole, parts = "GeneralizedPooling", "GeneralizedPooling, chunks"
    lines = speed.growth_table(gpu).split("\n")[2:]
    growth = {cells[0]: cells for cells in (line.strip("| ").split(" | ") for line in lines)}
    assert "grow with the words alone" in text
    for layer in (whole, "MultiDimAttentionPooling"):
        assert float(growth[layer][-1]) < 1.05
    costs = {time: case["costs"] for time, case in by_length.items()}
    at_once = "Generalized Pooling, all weights at once"
    words = (
        "takes three times as long as the layer at 16,384 words; at 256 it takes two thirds, and a"
    )
    assert f"{words} fifth to a quarter at the paper's 600 features" in text
    path = RESULTS / "speed" / "targets_torch_nvidia_h100_80gb_hbm3.json"
    at_600 = [
        row["ratio"][0]
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
        for row in case["rows"]
        if row["slow"] == "all weights at once" and "dim 600" in case["title"]
    ]
    assert len(at_600) == 2 and all(0.19 < ratio < 0.26 for ratio in at_600)
    assert 2.7 < costs[16384][at_once][0] / costs[16384][whole][0] < 3.5
    assert 0.6 < costs[256][at_once][0] / costs[256][whole][0] < 0.72
    path = RESULTS / "speed" / "memory_torch_nvidia_h100_80gb_hbm3.json"
    memory = {
        case["variant"]: case.get("bytes")
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
        if case["time"] == 16384
    }
    assert "take a fifth of the memory, forward, and with gradients thirty times as long" in text
    assert round(memory[whole] / memory[parts]) == 5
    assert 27 < costs[16384][parts][0] / costs[16384][whole][0] < 34
    assert "eight times as many texts as on the CPU" in text
    cpu = {case["time"]: case["batch"] for case in speed.series(measured_costs("speed", "torch"))}
    assert {time: 8 * batch for time, batch in cpu.items() if time < 16384} == {
        time: case["batch"] for time, case in by_length.items() if time < 16384
    }


def test_one_text_alone_is_dear_on_jax():
    assert "One text alone on JAX's CPU" in source("speed.md")
    costs = {
        case["time"]: speed.cost_of_a_word(case, "FeatureWiseAttention")
        for case in speed.series(measured_costs("speed", "jax"))
    }
    assert costs[16384] > 5 * costs[4096]


@pytest.mark.parametrize("backend", ["jax", "tensorflow", "torch"])
def test_no_layer_is_faster_than_the_machine(backend):
    """A share above one would be a fault of the counts or of the clock."""
    table = speed.rates_table(measured_costs("speed", backend))
    shares = [float(share) for share in re.findall(r"([\d.]+)\u00a0%", table)]
    assert len(shares) > 25
    assert all(0 < share < 110 for share in shares)
    # Counted by hand for a layer: d * d and 2 * d * heads multiplications a word, three times.
    (case,) = speed.find(
        measured_costs("speed", backend), time=256, dim=512, heads=16, gradient=True
    )
    words = case["batch"] * case["time"]
    assert case["products"]["LowRankAttentionPooling"] == 3 * words * (512 * 512 + 2 * 512 * 16)
