"""Puts the notebooks of the repository into the site, as they stand: they are not executed.

The notebooks lie beside `docs/`. Each becomes a page under `notebooks/`, and they come first in the
entry `Tutorials` of the navigation.
"""

import re
from html import escape, unescape
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

SECTION = "Tutorials"
# nbconvert's template loads MathJax, require.js and Mermaid from a server; KaTeX is here already.
REMOTE_SCRIPT = re.compile(r"<script\b[^>]*\bsrc=\"https?:[^>]*>\s*</script>")
REMOTE_MODULE = re.compile(
    r"<script type=\"module\">(?:(?!</script>).)*?https?://.*?</script>", re.S
)

# For the tests of the notebooks, not for readers.
CHECK = re.compile(r'(?:<span class="c1"># NBVAL_\w+</span>|(?<=">)# NBVAL_\w+)\n')
HEADING_OR_PICTURE = re.compile(
    r"<h[1-6]\b[^>]*>(?P<heading>.*?)</h[1-6]>|"
    r'(?<=alt=")No description has been provided for this image(?=")',
    re.S,
)

# Code that a reader may skip says so in its first line; its output stays in sight.
PLUMBING = re.compile(
    r'<div class="highlight[^"]*">\s*<pre>(?:<span></span>)?'
    r'<span class="c1"># Plumbing: (?P<what>[^<]*)</span>(?:(?!</pre>).)*</pre>\s*</div>',
    re.S,
)
# A drawing of the site, which a notebook shows as the file that it is in the repository.
DRAWING = re.compile(r'<img\b[^>]*\bsrc="\.\./docs/assets/pictures/(?P<name>\w+)\.svg"[^>]*>')
CAPTION = re.compile(r'\balt="([^"]*)"')


def folded(page):
    """The page with its plumbing folded away."""
    return PLUMBING.sub(
        lambda code: (
            f'<details class="plumbing"><summary>Code: {code["what"]}</summary>{code[0]}</details>'
        ),
        page,
    )


def drawn(page, pictures):
    """The page with the site's drawings in it, in the colours of the page."""

    def drawing(match):
        svg = (pictures / f"{match['name']}.svg").read_text(encoding="utf-8")
        caption = CAPTION.search(match[0])[1]
        svg = svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)
        return f'<figure class="drawn">{svg}<figcaption>{caption}</figcaption></figure>'

    return DRAWING.sub(drawing, page)


def described(page):
    """The page with each picture described by the heading that it stands under."""
    heading = ""

    def described_or_kept(match):
        nonlocal heading
        if match["heading"] is None:
            return f"Picture drawn by the code above, under the heading: {heading}"
        words = re.sub(r"<a\b.*?</a>|<[^>]*>", "", match["heading"], flags=re.S)
        heading = escape(unescape(words).strip())
        return match[0]

    return HEADING_OR_PICTURE.sub(described_or_kept, page)


def notebooks(config):
    """The notebooks, in the order of their names."""
    return sorted((Path(config.config_file_path).parent / "notebooks").glob("*.ipynb"))


def on_config(config):
    """Lists the notebooks in the navigation."""
    pages = [f"notebooks/{path.name}" for path in notebooks(config)]
    config.nav = [
        {SECTION: pages + entry[SECTION]} if SECTION in entry else entry for entry in config.nav
    ]
    return config


@event_priority(100)  # before mkdocs-jupyter looks for notebooks
def on_files(files, config):
    """Adds the notebooks to the files of the site."""
    for path in notebooks(config):
        folder = str(path.parent.parent)
        name = f"notebooks/{path.name}"
        files.append(File(name, folder, config.site_dir, config.use_directory_urls))
    return files


def on_page_content(html, page, config, files):
    """Takes out what a notebook would fetch from elsewhere; folds, draws and describes."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    for left_out in (REMOTE_SCRIPT, REMOTE_MODULE, CHECK):
        html = left_out.sub("", html)
    pictures = Path(config.config_file_path).parent / "docs" / "assets" / "pictures"
    return described(drawn(folded(html), pictures))
