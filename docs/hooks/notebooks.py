"""Makes pages of the site out of the notebooks of the repository, as they stand: none is executed.

The notebooks lie beside `docs/`. Each becomes a page in Markdown under `notebooks/`, first in the
entry `Tutorials` of the navigation, and beside it the notebook itself, to be downloaded: with its
drawing, and with the result files and the code of `benchmarks` that it reads, so that it runs in
any folder.
"""

import base64
import json
import lzma
import re
from html import escape
from pathlib import Path

from mkdocs.structure.files import File

SECTION = "Tutorials"
# For the tests of the notebooks, not for readers.
CHECK = re.compile(r"^# NBVAL_\w+\n", re.M)
# Code that a reader may skip says so in its first line; its output stays in sight.
PLUMBING = re.compile(r"# Plumbing: (?P<what>.*)\n")
PART = re.compile(r"^## (?P<title>Part [A-Z]\. .*)$", re.M)
HEADING = re.compile(r"^#+ (?P<words>.*)$", re.M)
FENCE = re.compile(r"```.*?```", re.S)
# A drawing of the site, which a notebook shows as the file that it is in the repository.
DRAWING = re.compile(
    r"^!\[(?P<caption>[^\]]*)\]\(\.\./docs/(?P<path>assets/pictures/\w+\.svg)\)$", re.M
)
# A page of the site, which a notebook links as the file that it is in the repository.
PAGE = re.compile(r"\[(?P<words>[^\]]*)\]\(\.\./docs/(?P<path>[\w/-]+\.md(?:#[\w-]+)?)\)")
LINK = re.compile(r"(\]\((?:[\w./]*/)?\d\d_\w+)\.ipynb(?=[)#])")
# The files that cells read, and the folders where they find them in the repository.
RESULTS = '"..", "benchmarks", "results"'
NAMES = re.compile(r'"([\w*]+\.json)"')
MODULE = re.compile(r"from benchmarks\.(\w+) import")
WORDS_A_MINUTE, LINES_A_MINUTE = 150, 15


def text_of(value):
    """What nbformat stores as a string or as a list of lines."""
    return value if isinstance(value, str) else "".join(value)


def minutes(cells):
    """How long it takes to read these cells, folded code left out, in steps of five minutes."""
    words = lines = 0
    for cell in cells:
        text = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            words += len(text.split())
        elif not PLUMBING.match(CHECK.sub("", text)):
            lines += sum(bool(line) for line in CHECK.sub("", text).splitlines())
    return max(5, 5 * round((words / WORDS_A_MINUTE + lines / LINES_A_MINUTE) / 5))


def parts(cells):
    """The titles of a notebook's parts, each with the minutes that it takes."""
    found = []
    for cell in cells:
        text = text_of(cell["source"])
        title = PART.search(text) if cell["cell_type"] == "markdown" else None
        if title:
            found.append((title["title"], []))
        if found:
            found[-1][1].append(cell)
    return {title: minutes(own) for title, own in found}


def here(title, known):
    """The line under a part's title: all parts, this one in bold."""
    told = []
    for each, took in known.items():
        words = f"{each.partition('.')[0]}, {took} minutes"
        anchor = re.sub(r"\W+", "-", each.lower()).strip("-")
        told.append(f"**{words}: you are here**" if each == title else f"[{words}](#{anchor})")
    return f"## {title}\n\n{' · '.join(told)}\n{{ .links }}\n"


def told(text, known):
    """A cell of Markdown as a page has it."""
    text = PART.sub(lambda part: here(part["title"], known), text)
    text = DRAWING.sub(r"![\g<caption>](../\g<path>)", text)
    text = PAGE.sub(r"[\g<words>](../\g<path>)", text)
    return re.sub(r"<details>\s*(<summary>.*?</summary>)\n", r'<details markdown="1">\1\n\n', text)


def coded(text):
    """A cell of code as a page has it; plumbing is folded away."""
    text = CHECK.sub("", text)
    plumbing = PLUMBING.match(text)
    fence = f"```python\n{text[plumbing.end() :] if plumbing else text}\n```"
    if not plumbing:
        return fence
    summary = f"<summary>Code: {escape(plumbing['what'])}</summary>"
    return f'<details class="plumbing" markdown="1">{summary}\n\n{fence}\n\n</details>'


def written(name, cells):
    """The page of a notebook: its Markdown, its outputs in HTML, and its plots by file name."""
    known, blocks, outputs, plots, heading = parts(cells), [], [], {}, ""
    for cell in cells:
        text = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = ([heading] + HEADING.findall(FENCE.sub("", text)))[-1]
            blocks.append(told(text, known))
            continue
        blocks.append(coded(text))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                file = f"{name}_{len(plots) + 1}.png"
                plots[file] = base64.b64decode(data["image/png"])
                alt = escape(f"Picture drawn by the code above, under the heading: {heading}")
                shown = f'<img src="{file}" alt="{alt}">'
            elif "text/html" in data:
                shown = text_of(data["text/html"])
            else:
                plain = text_of(output.get("text") or data["text/plain"])
                shown = f'<pre tabindex="0">{escape(plain.rstrip())}</pre>'
            blocks.append(f'<div class="output" data-number="{len(outputs)}"></div>')
            outputs.append(f'<div class="output" data-search-exclude>{shown}</div>')
    return "\n\n".join(blocks), outputs, plots


def carried(notebook, root):
    """The notebook as text, with its drawing and the files that it reads, without links."""
    paths, cells, benchmarks = [], notebook["cells"], root / "benchmarks"
    for cell in cells:
        text = text_of(cell["source"])
        if cell["cell_type"] == "code" and RESULTS in text:
            for pattern in NAMES.findall(text):
                paths += sorted((benchmarks / "results").rglob(pattern))
            paths += [benchmarks / f"{name}.py" for name in ("__init__", *MODULE.findall(text))]
            cell["source"] = text.replace('".."', "FOLDER")
        elif cell["cell_type"] == "markdown":

            def inline(image):
                svg = (root / "docs" / image["path"]).read_bytes()
                data = base64.b64encode(svg).decode()
                return f"![{image['caption']}](data:image/svg+xml;base64,{data})"

            cell["source"] = PAGE.sub(r"\g<words>", DRAWING.sub(inline, text))
    if paths:
        files = {
            path.relative_to(root).as_posix(): base64.b85encode(
                lzma.compress(path.read_bytes(), preset=9)
            ).decode()
            for path in paths
        }
        code = (
            "# Plumbing: the files of the repository that this notebook reads\n"
            "import base64\nimport lzma\nimport pathlib\nimport tempfile\n\n"
            "FOLDER = tempfile.mkdtemp()\n"
            f"for name, packed in {json.dumps(files)}.items():\n"
            "    path = pathlib.Path(FOLDER, name)\n"
            "    path.parent.mkdir(parents=True, exist_ok=True)\n"
            "    path.write_bytes(lzma.decompress(base64.b85decode(packed)))"
        )
        new = {"cell_type": "code", "execution_count": None, "id": "results", "metadata": {}}
        cells.insert(1, {**new, "outputs": [], "source": code})
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def notebooks(config):
    """The notebooks, in the order of their names."""
    return sorted((Path(config.config_file_path).parent / "notebooks").glob("*.ipynb"))


def on_config(config):
    """Lists the notebooks in the navigation."""
    pages = [f"notebooks/{path.stem}.md" for path in notebooks(config)]
    config.nav = [
        {SECTION: pages + entry[SECTION]} if SECTION in entry else entry for entry in config.nav
    ]
    return config


_outputs = {}


def on_files(files, config):
    """Adds a page for each notebook, its plots and the notebook itself."""
    root = Path(config.config_file_path).parent
    for path in notebooks(config):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        page, outputs, plots = written(path.stem, notebook["cells"])
        _outputs[f"notebooks/{path.stem}.md"] = outputs
        made = {f"{path.stem}.md": page, path.name: carried(notebook, root), **plots}
        for name, content in made.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links to a notebook, in its own folder or from another page, lead to its page."""
    return LINK.sub(r"\1.md", markdown)


def on_page_content(content, page, config, files):
    """Puts the outputs of a notebook into its page."""
    outputs = _outputs.get(page.file.src_uri, [])
    for number, shown in enumerate(outputs):
        content = content.replace(f'<div class="output" data-number="{number}"></div>', shown)
    return content
