"""Writes into docstrings what they have in common, so that it stays alike.

Every docstring stands whole in its own file. The docstrings of base classes say what layers have in
common; `[common]` in `docstrings.toml` says it for builders and analyses. `[own]` there names the
parts that a docstring says in its own words: arguments, sections, and "Masking", the paragraph. All
other parts are the common ones.

    python tools/docstrings.py    # as `make layers` calls it

adds what a docstring lacks and brings up to date what is common. To say a common part otherwise in
one docstring, write it there and name it in `[own]`: else it is written over. A new docstring keeps
what it says, and gets its line there once no TODO is left in it.
"""

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
SECTIONS = (
    *("Args", "Call arguments", "Input shape", "Output shape"),
    *("Returns", "Raises", "Example", "Reference"),
)
TITLE = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.M)
ENTRY = re.compile(r"^    \*{0,2}(\w+): .*(?:\n {5,}.*)*", re.M)
MASKING = re.compile(r"^Masking: .*(?:\n.+)*", re.M)

Parts = dict[str, str]
Node = ast.ClassDef | ast.FunctionDef


class Documented(NamedTuple):
    """A class or function, what its docstring may share, and whose arguments its sections list."""

    path: Path
    node: Node
    shared: list[str]
    signatures: dict[str, ast.FunctionDef]


def parts_of(docstring: str) -> Parts:
    """The parts of a docstring: "" is what stands in front of its sections, less the masking."""
    text, *rest = TITLE.split(inspect.cleandoc(docstring))
    masking = MASKING.search(text)
    parts = {"": MASKING.sub("", text).strip()} | ({"Masking": masking[0]} if masking else {})
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title in ("Args", "Call arguments"):
            for entry in ENTRY.finditer(body):
                parts[f"{title}: {entry[1]}"] = entry[0]
        else:
            parts[title] = body.rstrip()
    return parts


def common_parts(given: Documented) -> Parts:
    """What the docstring may share, the nearest first."""
    found: Parts = {}
    for text in given.shared:
        found = parts_of(text.replace("FUNCTION", given.node.name)) | found
    found.pop("", None)
    names = {f"{t}: {name}" for t, f in given.signatures.items() for name in names_of(f)}
    return {key: text for key, text in found.items() if ": " not in key or key in names}


def whole(given: Documented, own: list[str] | None) -> str:
    """The docstring with all its parts in order; without `own`, all that it says is its own."""
    said = parts_of(ast.get_docstring(given.node) or "")
    shared = common_parts(given)
    kept = {k: v for k, v in said.items() if own is None or k not in shared or k in own}
    parts = shared | kept
    text = "\n\n".join(parts[key] for key in ("", "Masking") if key in parts)
    for title in SECTIONS:
        body = parts.get(title)
        if title in given.signatures:
            keys = [f"{title}: {name}" for name in names_of(given.signatures[title])]
            body = "\n".join(parts[key] for key in keys if key in parts)
        if body:
            text += f"\n\n{title}:\n{body}"
    return text


def own_parts(given: Documented) -> list[str]:
    """The parts that could be common and are not."""
    said = parts_of(ast.get_docstring(given.node) or "")
    return [key for key, text in common_parts(given).items() if said.get(key, text) != text]


def names_of(function: ast.FunctionDef) -> list[str]:
    """The arguments of a function in their order."""
    a = function.args
    every = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
    return [argument.arg for argument in every if argument]


def classes(folder: Path) -> dict[str, tuple[Path, ast.ClassDef]]:
    """The classes of a folder by their names."""
    return {
        node.name: (path, node)
        for path in sorted(folder.glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def lineage(name: str, known: dict[str, tuple[Path, ast.ClassDef]]) -> list[str]:
    """The class and its bases in the order in which Python looks them up."""
    if name not in known:
        return []
    order = [name]
    for base in known[name][1].bases:
        order += lineage(ast.unparse(base), known)
    # A base of several stands behind all of them.
    return [each for index, each in enumerate(order) if each not in order[index + 1 :]]


def layers(root: Path) -> Iterator[Documented]:
    """The public layers, whose base classes say what they share."""
    known = classes(root / "keras_attnpool" / "layers")
    for name, (path, node) in known.items():
        if "register" in " ".join(map(ast.unparse, node.decorator_list)):
            order = lineage(name, known)
            bases = [known[each] for each in order if known[each][0].name.startswith("_")]
            methods = {}
            for title, method in (("Args", "__init__"), ("Call arguments", "call")):
                every = (each for base in order for each in known[base][1].body)
                methods[title] = next(
                    (f for f in every if isinstance(f, ast.FunctionDef) and f.name == method), None
                )
            yield Documented(
                path,
                node,
                [ast.get_docstring(base) or "" for _, base in bases],
                {title: method for title, method in methods.items() if method},
            )


def functions(root: Path, table: dict) -> Iterator[Documented]:
    """The builders and analyses that share something, as the table says."""
    found = {
        node.name: (path, node)
        for room in ("models", "analysis")
        for path in sorted((root / "keras_attnpool" / room).glob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    for name, shares in table["shares"].items():
        path, node = found[name]
        texts = []
        for each in shares:
            if each in table["common"]:
                texts.append(table["common"][each])
            else:  # the arguments of another function
                parts = parts_of(ast.get_docstring(found[each][1]) or "")
                entries = [text for key, text in parts.items() if key.startswith("Args: ")]
                texts.append("\n\nArgs:\n" + "\n".join(entries))
        yield Documented(path, node, texts, {"Args": node})


def replaced(source: str, node: Node, docstring: str) -> str:
    """The source with another docstring of a class or function."""
    place = node.body[0]
    lines = source.splitlines(keepends=True)
    indent = " " * place.col_offset
    prefix = 'r"""' if "\\" in docstring else '"""'
    text = "\n".join(indent + line if line else "" for line in docstring.split("\n"))
    text = f'{indent}{prefix}{text.lstrip()}\n{indent}"""\n'
    return "".join([*lines[: place.lineno - 1], text, *lines[place.end_lineno :]])


def stale(root: Path = REPOSITORY) -> dict[Path, str]:
    """The files that do not say what is common, and what they should hold."""
    path = root / "tools" / "docstrings.toml"
    before = path.read_text(encoding="utf-8")
    table, listed, fresh = tomllib.loads(before), before, {}
    for given in [*layers(root), *functions(root, table)]:
        own = table["own"].get(given.node.name)
        text = whole(given, own)
        if own is None and given.shared and "TODO" not in text:
            listed += f"{given.node.name} = {json.dumps(own_parts(given))}\n"
        if text != (ast.get_docstring(given.node) or "").rstrip():
            source = fresh.get(given.path, given.path.read_text(encoding="utf-8"))
            tree = ast.parse(source)
            node = next(n for n in tree.body if isinstance(n, Node) and n.name == given.node.name)
            fresh[given.path] = replaced(source, node, text)
    return fresh | ({path: listed} if listed != before else {})


def write(root: Path = REPOSITORY) -> None:
    """Brings all docstrings up to date."""
    for path, text in stale(root).items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote  {path.relative_to(root)}")


if __name__ == "__main__":
    write()
