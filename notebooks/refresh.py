"""Executes the notebooks in place and keeps of their outputs what belongs into the repository.

    KERAS_BACKEND=jax python notebooks/refresh.py [NOTEBOOK ...]
    python notebooks/refresh.py --results [NOTEBOOK ...]

The second does so with the cells alone that print the files of benchmarks/results; it takes no
time and needs no backend. Printed text stays, messages on stderr, the times of execution and the
machine's details go. Pictures get a palette, which makes plots three times smaller.
"""

import base64
import contextlib
import io
import json
import pathlib
import sys

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent
RESULTS = '"benchmarks", "results"'


def smaller(png):
    """A base64 PNG with at most 128 colours."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    file = io.BytesIO()
    picture.quantize(128, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def cleaned(outputs):
    """The outputs without stderr; what a cell prints in pieces becomes one piece."""
    kept = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr":
                continue
            if kept and kept[-1].output_type == "stream":
                kept[-1].text += output.text
                continue
        if "image/png" in output.get("data", {}):
            output.data["image/png"] = smaller(output.data["image/png"])
        kept.append(output)
    return kept


def refresh(path):
    """Executes one notebook; raises at its first error and leaves the file alone."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.clear()
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for index, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        cell.id = f"cell-{index}"
        if cell.cell_type == "code":
            cell.outputs = cleaned(cell.outputs)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.validate(notebook)
    nbformat.write(notebook, path)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")


def refresh_results(path):
    """Executes the cells that print measured results: they ask for nothing but these files."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and RESULTS in cell.source:
            printed, shown = io.StringIO(), []
            names = {"json": json, "pathlib": pathlib, "HTML": str, "display": shown.append}
            with contextlib.redirect_stdout(printed), contextlib.chdir(FOLDER):
                exec(cell.source, names)
            text = "<IPython.core.display.HTML object>"
            cell.outputs = [
                nbformat.v4.new_output("stream", text=printed.getvalue()),
                *(
                    nbformat.v4.new_output("display_data", {"text/html": html, "text/plain": text})
                    for html in shown
                ),
            ]
            if not printed.getvalue():
                del cell.outputs[0]
    nbformat.write(notebook, path)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    only_results = "--results" in arguments
    names = [name for name in arguments if name != "--results"]
    for name in names or sorted(FOLDER.glob("*.ipynb")):
        (refresh_results if only_results else refresh)(pathlib.Path(name).resolve())
