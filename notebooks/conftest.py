"""Runs the solutions of a notebook's exercises behind its cells, when nbval runs the notebook.

A solution is Python in the last Markdown cell, folded under "Solution 1"; it runs in the kernel of
the notebook, with all that the cells have trained, and ends in assertions.
"""

import re
from collections import defaultdict

import nbformat

SOLUTION = re.compile(
    r"<details><summary>(?P<name>Solution \d)</summary>(?P<text>.*?)</details>", re.S
)
PYTHON = re.compile(r"```python\n(.*?)```", re.S)


def solutions(notebook):
    """The name and the code of every solution that has code."""
    text = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"][-1]
    found = {each["name"]: PYTHON.findall(each["text"]) for each in SOLUTION.finditer(text)}
    return {name: "\n".join(code) for name, code in found.items() if code}


def pytest_collection_modifyitems(items):
    """Adds the solutions behind the last cell of each notebook that is run."""
    last = {item.parent: item for item in items if hasattr(item.parent, "nb")}
    for parent, item in last.items():
        place = items.index(item) + 1
        items[place:place] = [
            type(item).from_parent(
                parent,
                name=name,
                cell_num=item.cell_num + number,
                cell=nbformat.v4.new_code_cell(code),
                options=defaultdict(bool),
            )
            for number, (name, code) in enumerate(solutions(parent.nb).items(), start=1)
        ]
