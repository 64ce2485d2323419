"""The figures of the house: `python tools/house.py` prints how heavy it is, and who needs whom.

Code lines are lines without docstrings, comments and blank ones. A private name crosses rooms where
a module takes a name with a leading underscore, or a whole such module, from another room.

`python tools/house.py --pages` prints the weight of every page of the built site: its own, and that
of the styles, scripts, fonts and pictures that it names.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "keras_attnpool"
LIBRARY = ("layers", "ops", "regularizers", "_checks")
# Bottom to top: an import may go down, or stay on its floor where the rooms differ.
FLOORS = [
    {"types", "_checks"},
    {"ops"},
    {"regularizers"},
    {"layers"},
    {"models", "analysis", "batches", "testing"},
    {"workbench", "__main__", "__init__"},
]
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
NO_CODE |= {tokenize.ENDMARKER}
NAMED = re.compile(r'(?:src|href)="([^"#?:]+\.(?:css|js|svg|png|jpg|gif|ico|woff2?))["?]')
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(source):
    """The number of lines of a module that hold code."""
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def room_of(dotted):
    """`keras_attnpool.layers._masked` -> `layers`, `keras_attnpool` -> `__init__`."""
    return (dotted.split(".") + ["__init__"])[1]


def modules():
    """`{dotted name: syntax tree}` of the package."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if len(parts) > 2 and parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(name, tree, known):
    """Yields `(module, name taken from it or None)` for each import of the package's modules."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    aliases[alias.asname or alias.name] = inner
                    yield inner, None
                else:
                    yield node.module, alias.name
        elif isinstance(node, ast.Import):
            yield from ((a.name, None) for a in node.names if a.name.startswith(PACKAGE))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in aliases:
                yield aliases[node.value.id], node.attr


def private_across_rooms(trees):
    """Yields `(importing module, module, name)`; layers may use what is private in `ops`."""
    for importer, tree in trees.items():
        for module, name in imports(importer, tree, trees):
            here, there = room_of(importer), room_of(module)
            private = (name or "").startswith("_") and not (name or "").startswith("__")
            private |= any(part.startswith("_") for part in module.split(".")[2:])
            if private and here != there and (here, there) != ("layers", "ops"):
                yield importer, module, name


def arrows(trees):
    """The pairs of rooms of which the first imports the second."""
    pairs = {
        (room_of(importer), room_of(module))
        for importer, tree in trees.items()
        for module, _ in imports(importer, tree, trees)
    }
    return {(a, b) for a, b in pairs if a != b and "__init__" not in (a, b)}


def upward(pairs):
    """The arrows that lead to a higher floor."""
    floor = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
    return {(a, b) for a, b in pairs if floor[a] < floor[b]}


def circles(pairs):
    """The pairs of rooms that reach each other."""
    reach = set(pairs)
    while more := {(a, d) for a, b in reach for c, d in reach if b == c} - reach:
        reach |= more
    return {(a, b) for a, b in reach if a < b and (b, a) in reach}


def arguments(trees):
    """`{class: number of arguments}` of the public layers' constructors."""
    return {
        node.name: len(f.args.args) - 1 + len(f.args.kwonlyargs)
        for name, tree in trees.items()
        if room_of(name) == "layers" and not name.split(".")[-1].startswith("_")
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for f in node.body
        if isinstance(f, ast.FunctionDef) and f.name == "__init__"
    }


def page_weights(site):
    """`{page: (its own bytes, those of the files that it names)}` of a built site."""
    weights = {}
    for page in site.rglob("*.html"):
        names = set(NAMED.findall(page.read_text(encoding="utf-8")))
        files = {(page.parent / name).resolve() for name in names}
        others = sum(file.stat().st_size for file in files if file.is_file())
        weights[page.relative_to(site).as_posix()] = page.stat().st_size, others
    return weights


def main(*options):
    """Prints all figures."""
    if "--pages" in options:
        heaviest = sorted(page_weights(ROOT / "site").items(), key=lambda each: -sum(each[1]))
        for page, (own, others) in heaviest:
            print(f"{page:<50}{own / 1000:>8.0f} kB, with its files {(own + others) / 1000:.0f} kB")
        return 0
    trees = modules()
    rooms = Counter()
    for path in (ROOT / PACKAGE).rglob("*.py"):
        parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
        room = ".".join(parts[: 1 + (parts[0] == "workbench" and len(parts) > 2)])
        rooms[room] += code_lines(path.read_text(encoding="utf-8"))
    for room, count in rooms.most_common():
        print(f"{room:<24}{count:>8,}")
    print(f"{'package':<24}{sum(rooms.values()):>8,}")
    print(f"{'library':<24}{sum(rooms[room] for room in LIBRARY):>8,}   ({', '.join(LIBRARY)})")
    for folder in ("tests", "benchmarks", "tools", "docs"):
        paths = (ROOT / folder).rglob("*.py")
        print(f"{folder:<24}{sum(code_lines(p.read_text(encoding='utf-8')) for p in paths):>8,}")
    print(f"{'constructor arguments':<24}{sum(arguments(trees).values()):>8,}")
    pairs = arrows(trees)
    print(f"arrows {len(pairs)}, up {len(upward(pairs))}, circles {len(circles(pairs))}")
    crossing = Counter((m, n) for _, m, n in private_across_rooms(trees))
    print(f"private names across rooms: {sum(crossing.values())} imports of {len(crossing)} names")
    for (module, name), count in crossing.most_common():
        print(f"    {count:>3} {module}{'.' + name if name else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
