"""The notebooks as files: what is stored in them. CI executes them with nbval."""

import json
import pathlib
import re

import pytest
from docs_hooks import hook

from benchmarks import claims

pytestmark = pytest.mark.one_backend("the notebooks as files")

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 600_000
CHECKED = "# NBVAL_CHECK_OUTPUT"
# Folders of a machine, in POSIX and Windows form; a URL's path does not match.
ABSOLUTE = re.compile(r"""(?<![\w.:/])/(?:home|root|tmp|work|usr|opt|var|Users|mnt)/|\b[A-Z]:\\""")

# What the notebooks of papers must speak of, each in a heading: equations, tables and figures.
HEADINGS = {
    "01_lama": r"""Equation 7\b; Equations? 8\b; Equation 10\b; Equation 11\b;
        Equations 12 and 13\b; Equations 14 and 15\b; equations 18 and 19\b; Table 4\b; Table 5\b;
        Table 6\b; Figure 2\b; Figure 3\b; Figure 4\b; Figure 5\b; ^#+ Rank\b; ^#+ Context\b;
        e² bound; The layer\b; Is the attention right; Deletion test""",
    "03_mpsan": r"""Equation 1\b; Equations 5 and 6\b; Equation 7\b; Equations 8 to 12\b;
        Equations 13 to 16\b; Multi-dimensional attention; Tables 2 and 5\b; Tables 3, 4 and 5\b;
        The problem that the paper saw; The layers\b; The cost of a window; The model, trained;
        Which mask solves which kind of question; Where the fusion weights go;
        Is the attention right""",
    "04_generalized_pooling": r"""Equation 4\b; Equations 5 and 6\b; Equation 7\b; Equation 8\b;
        Equation 9\b; Equation 10\b; Tables 1, 2 and 3\b; Table 4\b; Figure 1\b; Figure 2\b;
        Padding\b; The layer\b; Mean pooling and scalar attention; Max pooling;
        When equation 7 does nothing; Pair matching; Is the attention right; The bound""",
    "05_sam": r"""Equation 1\b; Equation 2\b; Equation 3\b; Equation 4\b; Equation 5\b;
        Equation 6\b; Tables 5 and 4\b; Figure 2\b; Figure 3\b; The problem that the paper saw;
        The layers\b; real language model\b; RBA against SAM; gates by class; Dense or pointwise""",
}
IN_EACH = "; measured against what the paper reports; Exercises"


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text_of(value):
    return value if isinstance(value, str) else "".join(value)


def headings(notebook):
    markdown = (text_of(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    return [line for text in markdown for line in text.splitlines() if line.startswith("#")]


def faults(notebook):
    """What must not be in a stored notebook, as a list of texts."""
    found = []
    executed = [cell["execution_count"] for cell in code_cells(notebook)]
    if executed != list(range(1, len(executed) + 1)):
        found.append("not executed once from top to bottom")
    for number, cell in enumerate(code_cells(notebook), start=1):
        outputs = cell["outputs"]
        if CHECKED in text_of(cell["source"]).splitlines() and not outputs:
            found.append(f"cell {number}: checked, but without a stored output")
        if "execution" in cell["metadata"]:
            found.append(f"cell {number}: times of execution")
        for output in outputs:
            if output["output_type"] == "error":
                found.append(f"cell {number}: an error")
            if output.get("name") == "stderr":
                found.append(f"cell {number}: stderr")
    written = [text_of(cell["source"]) for cell in notebook["cells"]]
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            written.append(text_of(output.get("text", "")))
            data = output.get("data", {})
            written += [text_of(value) for kind, value in data.items() if kind.startswith("text/")]
    found += [f"absolute path: {text[:60]!r}" for text in written if ABSOLUTE.search(text)]
    return found


def test_both_notebooks_are_there():
    assert {"00_quickstart.ipynb", "01_lama.ipynb"} <= {path.name for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_executed_and_clean(path):
    notebook = read(path)
    assert notebook["nbformat"] == 4
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert path.stat().st_size <= LARGEST
    assert faults(notebook) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_checks_something(path):
    sources = [text_of(cell["source"]) for cell in code_cells(read(path))]
    assert sum(CHECKED in source.splitlines() for source in sources) >= 3
    assert sum(re.search(r"^\s*assert\b", source, re.M) is not None for source in sources) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_ends_with_exercises_and_folded_solutions(path):
    last = [cell for cell in read(path)["cells"] if cell["cell_type"] == "markdown"][-1]
    text = text_of(last["source"])
    assert "**Time**" in text
    _, _, exercises = text.partition("## Exercises")
    solutions = re.findall(
        r"<details><summary>Solution (\d)</summary>\n\n(.*?)\n</details>", exercises, re.S
    )
    asked = {int(number) for number in re.findall(r"^(\d)\. \*\*", exercises, re.M)}
    numbers = [int(number) for number, _ in solutions]
    assert len(numbers) >= 2 and numbers == sorted(set(numbers)) and set(numbers) <= asked
    assert exercises.count("<details>") == exercises.count("</details>") == len(numbers)
    for _, solution in solutions:
        for code in re.findall(r"```python\n(.*?)```", solution, re.S):
            compile(code, path.name, "exec")


@pytest.mark.parametrize("path", NOTEBOOKS[1:], ids=lambda path: path.stem)
def test_measured_results_are_those_of_the_files(path, monkeypatch, capsys):
    """`python notebooks/refresh.py --results` stores what the files say now."""
    monkeypatch.chdir(FOLDER)
    monkeypatch.syspath_prepend(FOLDER)  # what cells append goes afterwards
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    reading = [c for c in cells if '"benchmarks", "results"' in "".join(c["source"])]
    assert reading
    for cell in reading:
        shown = []
        names = {"json": json, "pathlib": pathlib, "HTML": str, "display": shown.append}
        exec("".join(cell["source"]), names)
        outputs = [output.get("text") or output["data"]["text/html"] for output in cell["outputs"]]
        stored = "".join(text for output in outputs for text in output)
        assert capsys.readouterr().out + "".join(shown) == stored


def test_the_intervals_that_notebooks_read_are_those_of_the_results():
    """`python -m benchmarks.claims` writes them anew."""
    assert json.loads(claims.FILE.read_text(encoding="utf-8")) == claims.measured()


# Notebooks in three parts: the mechanism, trained and analysed, against the paper.
IN_PARTS = [path for path in NOTEBOOKS if "# Part A. " in path.read_text(encoding="utf-8")]


MINUTES = {"five": 5, "ten": 10, "fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30}


@pytest.mark.parametrize("path", IN_PARTS, ids=lambda path: path.stem)
def test_a_notebook_has_one_title_and_says_how_long_its_parts_take(path):
    """The minutes follow from the words and the lines that are in sight."""
    notebook = read(path)
    titles = [line for line in headings(notebook) if line.startswith("# ")]
    assert len(titles) == 1
    stated = re.findall(
        r"\*\*(Part [A-C]\. [^*]+)\*\*, ([\w-]+) minutes", text_of(notebook["cells"][0]["source"])
    )
    parts = hook("notebooks").parts(notebook["cells"])
    assert {title: MINUTES[word] for title, word in stated} == parts
    assert len(parts) == 3 and max(parts.values()) <= 30


# Words that say how a comparison came out. A cell prints them, from numbers: the next run may turn
# one around. A sentence may ask, quote the printed word, or tell what a paper says.
VERDICT = re.compile(
    r"\b(?:ahead|better|worse|by far|beats?|helps?|hurts?|(?:more|less) accurate"
    r"|(?:is|are|was|were|comes?|stands?)(?: not)? behind)\b",
    re.I,
)


def verdicts(notebook):
    """The sentences of parts B and C that give a verdict; of a notebook without parts, of all."""
    cells = [text_of(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]
    starts = [i for i, text in enumerate(cells) if "## Part B. " in text]
    told = "\n\n".join(cells[starts[0] if starts else 0 :]).partition("## Quiz")[0]
    told += cells[-1].partition("## Exercises")[0]
    told = re.sub(
        r'```.*?```|<details>.*?</details>|"[^"]*"|`[^`]*`|^\|[^\n]*$', "", told, flags=re.S | re.M
    )
    sentences = re.split(r"(?<=[.:])\**\s+|(?<=\?)|\n\n", told)
    return [s for s in sentences if VERDICT.search(s) and "paper" not in s and not s.endswith("?")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_verdicts_are_printed_and_not_typed(path):
    assert verdicts(read(path)) == []


def test_a_typed_verdict_is_seen():
    text = '## Part B. X\n\nA is ahead of B. Is A better? The paper has A ahead. It prints "ahead".'
    cells = [{"cell_type": "markdown", "source": text}, {"cell_type": "markdown", "source": ""}]
    assert verdicts({"cells": cells}) == ["A is ahead of B."]


@pytest.mark.parametrize("path", IN_PARTS, ids=lambda path: path.stem)
def test_a_notebook_in_parts_has_a_drawing_a_quiz_and_exercises_that_check_themselves(path):
    cells = [text_of(cell["source"]) for cell in read(path)["cells"]]
    drawing = re.search(r"!\[[^\]]{20,}\]\((\.\./docs/assets/pictures/\w+\.svg)\)", cells[0])
    assert (FOLDER / drawing[1]).is_file()
    (quiz,) = [text for text in cells if text.startswith("## Quiz")]
    questions = re.findall(r"^\*\*\d\. ", quiz, re.M)
    answers = re.findall(r"<details><summary>Answer</summary>\n(.*?)</details>", quiz, re.S)
    assert len(questions) == len(answers) >= 3
    for answer in answers:  # the right letter, and why another one is wrong
        assert len(set(re.findall(r"\(([abc])\)", answer))) >= 2
    solutions = re.findall(r"```python\n(.*?)```", cells[-1], re.S)
    assert solutions and all(re.search(r"^\s*assert ", code, re.M) for code in solutions)


# Figures of a notebook's text that no cell prints: of the paper, or of arithmetic in the text.
FIGURES = {
    "01_lama": {"4,484", "18.465", "99", "0.21", "50,000"},
    "03_mpsan": {"2,210"},  # SST-5's test part
}
# Numbers that are names: in code and formulas, of equations and the like, years, places of lists.
NAMES = "|".join(
    [
        r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<summary>.*?</summary>",
        r"\b(?:equation|eq\.|table|figure|section|exercise|solution|part|model|head|rank|fa)s?"
        r"[ \n(]+\d+(?:\.\d+)?(?:(?:,| and| to| or|, \d+ and)[ \n]\d+)*",
        r"^#+ \d+\.|^(?:\*\*)?\d\.|\b(?:19|20)\d\d\b",
    ]
)
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)")


def unprinted(notebook):
    """The figures of a notebook's text that no cell has in its code or prints, also rounded."""
    shown = [text_of(cell["source"]) for cell in code_cells(notebook)]
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            html = text_of(output.get("data", {}).get("text/html", ""))
            shown += [text_of(output.get("text", "")), re.sub(r"<[^>]*>", " ", html)]
    values = {number.replace(",", "") for text in shown for number in NUMBER.findall(text)}
    decimals = {value for value in values if value.count(".") == 1}
    found = []
    for text in (text_of(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"):
        for number in NUMBER.findall(re.sub(NAMES, " ", text, flags=re.S | re.M | re.I)):
            plain = number.replace(",", "")
            form = f".{len(plain.partition('.')[2])}f"
            if plain not in values | {format(float(value), form) for value in decimals}:
                found.append(number)
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_figure_of_the_text_is_printed(path):
    """So that no sentence contradicts the outputs after the next run."""
    assert set(unprinted(read(path))) == FIGURES.get(path.stem, set())


def test_a_figure_that_no_cell_prints_is_seen():
    text = {"cell_type": "markdown", "source": "Table 4 has 75.5 and 0.36, equation 9 has `8`."}
    printing = cell("x", output_type="stream", name="stdout", text="75.5 and 1,234.56")
    assert unprinted({"cells": [text, printing]}) == ["0.36"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_is_python(path):
    for cell in code_cells(read(path)):
        compile(text_of(cell["source"]), path.name, "exec")


@pytest.mark.parametrize("stem", HEADINGS)
def test_a_notebook_covers_its_paper(stem):
    lines = headings(read(FOLDER / f"{stem}.ipynb"))
    for item in re.split(r";\s+", HEADINGS[stem] + IN_EACH):
        assert any(re.search(item, line) for line in lines), (item, lines)


def cell(source="print(1)", number=1, **output):
    return {
        "cell_type": "code",
        "execution_count": number,
        "metadata": {},
        "outputs": [output] if output else [],
        "source": source,
    }


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (cell(number=None), "not executed"),
        (cell(f"{CHECKED}\nprint(1)"), "without a stored output"),
        (cell(output_type="error", ename="E"), "an error"),
        (cell(output_type="stream", name="stderr", text="noise"), "stderr"),
        (cell(output_type="stream", name="stdout", text="in /home/me/x.py"), "absolute path"),
        (cell("open(r'C:\\data.csv')"), "absolute path"),
        ({**cell(), "metadata": {"execution": {}}}, "times of execution"),
    ],
)
def test_checker_sees(broken, fault):
    assert any(fault in each for each in faults({"cells": [broken]}))


def test_checker_lets_urls_and_clean_cells_pass():
    clean = cell("x = 'https://example.com/home/x'", output_type="stream", name="stdout", text="1")
    assert faults({"cells": [clean]}) == []
