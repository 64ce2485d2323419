"""Puts the notebooks of the repository into the site, as they stand: they are not executed.

The notebooks lie beside `docs/`. Each becomes a page under `notebooks/`, and the empty entry
`Tutorials` of the navigation is filled with them, or dropped while there are none.
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
        {SECTION: pages} if SECTION in entry else entry
        for entry in config.nav
        if pages or SECTION not in entry
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
    """Takes out what a page of a notebook would fetch from elsewhere; describes its pictures."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    for left_out in (REMOTE_SCRIPT, REMOTE_MODULE, CHECK):
        html = left_out.sub("", html)
    return described(html)
