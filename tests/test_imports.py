"""The architecture as code: who may import what, and what no module may do.

Each rule is a function from the source of one module to the faults it finds there. It is held
over the whole package, and shown on small sources to catch what it is for.
"""

import ast
import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

import keras
import pytest
from docs_hooks import hook

import keras_attnpool

pytestmark = pytest.mark.one_backend("reads the source")

ROOT = Path(keras_attnpool.__file__).parent
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))

# Room -> the rooms that it may import. The command line sits on top and may use all of them.
ROOMS = {
    "types": set(),
    "_checks": set(),
    "_files": set(),
    "ops": {"types", "_checks"},
    "regularizers": {"types", "_checks", "ops"},
    "layers": {"types", "_checks", "ops", "regularizers"},
    "models": {"types", "_checks", "ops", "regularizers", "layers"},
    "batches": {"types", "_checks"},
    "analysis": {"types", "_checks", "ops", "layers", "batches"},
    "testing": {"types", "_checks"},
    "__init__": {"_checks", "layers", "regularizers", "models", "ops"},
    # The workbench: its rooms may use each other's and the library's.
    "workbench._files": set(),
    "workbench._text_files": {"types", "_checks"},
    "workbench.datasets": {"types", "_checks", "workbench._files", "workbench._text_files"},
    "workbench.corpora": {"types", "_checks", "workbench.datasets"},
    "workbench.text": {"types", "_checks", "batches", "workbench._files", "workbench._text_files"},
    "workbench.__init__": {"workbench.cli"},
}
TOP_ROOMS = {"__main__", "workbench.cli"}
BACKENDS = {"tensorflow", "torch", "jax"}
REQUIRED = {"keras", "numpy", "keras_attnpool"}
# Methods that set a layer up: Keras calls the first two, and they alone call the others.
SETUP = {"__init__", "build", "_feature_dim", "_clone_initializer"}
SETUP |= {"_start_dropout", "_build_scores"}
SETUP |= {"_build_hidden"}
# These keep a flag, and nothing of a mask: a first one was checked, a missing one was told of.
SETUP |= {"_validate_mask_once", "_check_mask"}
OPTIONAL = {"tokenizers", "gensim", "matplotlib", "sklearn", "keras_hub", "keras_nlp"}
OPTIONAL |= {"scipy"}  # scikit-learn brings it


def room_of(module):
    """`layers/attention_pooling.py` -> `layers`, `workbench/text/x.py` -> `workbench.text`."""
    parts = module.removesuffix(".py").split("/")
    return ".".join(parts[: 1 + (parts[0] == "workbench")])


def imported_names(module, tree):
    """Yields `(dotted name, node)` for every import, relative and dynamic ones included."""
    package = ["keras_attnpool", *module.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *filter(None, [node.module])])
            yield from ((f"{prefix}.{alias.name}", node) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = ast.unparse(node.func).split(".")[-1]
            if function in {"import_module", "__import__", "find_spec", "LazyLoader"}:
                if isinstance(node.args[0], ast.Constant):
                    yield str(node.args[0].value), node


def dotted_names(tree):
    """Yields `(dotted name, node)` for every attribute chain, with import aliases resolve."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname: a.name for a in node.names if a.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            aliases |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            yield ".".join([aliases.get(first, first), *rest]), node


def is_in(name, package):
    """Whether a dotted name is `package` or something inside it."""
    return name == package or name.startswith(package + ".")


def no_backend(module, tree):
    """No import of a backend, nor of the private half of Keras."""
    for name, node in [*imported_names(module, tree), *dotted_names(tree)]:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            if name.split(".")[0] in BACKENDS:
                yield node, f"imports {name}"
        if is_in(name, "keras.src"):
            yield node, f"uses the private {name}"


def no_backend_name(module, tree):
    """The name of the backend is read in `ops` alone; the command line records it in a run."""
    if room_of(module) in {"ops", *TOP_ROOMS}:
        return
    for name, node in dotted_names(tree):
        if name in {"keras.backend.backend", "keras.config.backend"}:
            yield node, f"reads {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == "KERAS_BACKEND":
            yield node, "reads KERAS_BACKEND"


def arrows(module, tree):
    """ops <- regularizers <- layers <- models, analysis <- the workbench."""
    room = room_of(module)
    if room in TOP_ROOMS:
        return
    if room not in ROOMS:
        yield tree, f"the room {room} has no place in the rule: give it one in ROOMS"
        return
    for name, node in imported_names(module, tree):
        if not is_in(name, "keras_attnpool"):
            continue
        parts = [*name.split(".")[1:], "__init__"]
        target = ".".join(parts[: 1 + (parts[0] == "workbench")])
        if target != room and target not in ROOMS[room]:
            yield node, f"{room} imports {name}"


def lazy_optional(module, tree):
    """On import: the standard library, numpy, Keras. Optional packages inside functions only."""
    allowed_at_top = REQUIRED | set(sys.stdlib_module_names)
    deferred = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            deferred |= set(ast.walk(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            deferred |= {inner for statement in node.body for inner in ast.walk(statement)}
    for name, node in imported_names(module, tree):
        allowed = allowed_at_top | OPTIONAL if node in deferred else allowed_at_top
        if name.split(".")[0] not in allowed:
            where = "in a function" if node in deferred else "on import"
            yield node, f"imports {name} {where}"


def nothing_stored(module, tree):
    """Once set up, layers, models and regularizers stay as they are.

    So no call can leave its attention scores, or anything else, on `self`.
    """
    if room_of(module) not in {"layers", "models", "regularizers"}:
        return
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or method.name in SETUP:
                continue
            for node in ast.walk(method):
                if isinstance(node, ast.Attribute | ast.Subscript):
                    target = ast.unparse(node)
                    if isinstance(node.ctx, ast.Store) and target.startswith("self."):
                        yield node, f"{owner.name}.{method.name} sets {target}"
                if isinstance(node, ast.Call):
                    function = ast.unparse(node.func)
                    first = ast.unparse(node.args[0]) if node.args else ""
                    if function.endswith("setattr") and "self" in (first, function.split(".")[0]):
                        yield node, f"{owner.name}.{method.name} sets an attribute"
                    if function.startswith("self.") and function.endswith((".append", ".update")):
                        yield node, f"{owner.name}.{method.name} calls {function}"


def no_message_read(module, tree):
    """An error tells by its fields what was wrong: no code reads our sentences.

    Those of Keras's and the backends' errors have no fields.
    """
    foreign = {"Unknown preset identifier", "Batching rule", "not installed|No module"}
    readers = {
        "search",
        "match",
        "fullmatch",
        "findall",
        "sub",
        "replace",
        "startswith",
        "endswith",
    }
    for scope in ast.walk(tree):
        if isinstance(scope, ast.ExceptHandler):
            texts = {scope.name}
        elif isinstance(scope, ast.FunctionDef):
            texts = {a.arg for a in scope.args.args if a.annotation and _is_error(a.annotation)}
        else:
            continue

        def is_text(node, texts=texts):
            """Whether the error itself, not a field of it, is part of the expression."""
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                return False
            if isinstance(node, ast.Name):
                return node.id in texts
            return any(map(is_text, ast.iter_child_nodes(node)))

        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and is_text(node.value):
                texts |= {name.id for name in node.targets if isinstance(name, ast.Name)}
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                told = getattr(node.left, "value", None)
                if is_text(node.comparators[0]) and told not in foreign:
                    yield node, f"reads {ast.unparse(node)}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                told = getattr(node.args[0], "value", None) if node.args else None
                texts_read = map(is_text, [node.func.value, *node.args])
                if node.func.attr in readers and told not in foreign and any(texts_read):
                    yield node, f"reads {ast.unparse(node)}"


def _is_error(annotation):
    return ast.unparse(annotation).endswith(("Error", "Exception"))


RULES = [no_backend, no_backend_name, arrows, lazy_optional, nothing_stored, no_message_read]


def faults(rule, module, source):
    """The faults that a rule finds, as `module:line: what`."""
    tree = ast.parse(source)
    return [f"{module}:{getattr(n, 'lineno', 1)}: {what}" for n, what in rule(module, tree)]


@pytest.mark.parametrize("rule", RULES)
def test_rule_holds(rule):
    assert len(MODULES) > 5
    found = [f for m in MODULES for f in faults(rule, m, (ROOT / m).read_text(encoding="utf-8"))]
    assert not found, "\n".join([rule.__doc__, *found])


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (no_backend, "layers/x.py", "import torch"),
        (no_backend, "ops/x.py", "from jax import numpy as jnp"),
        (no_backend, "models/x.py", "def f():\n    import torch.nn"),
        (no_backend, "workbench/text/x.py", "import importlib\nimportlib.import_module('torch')"),
        (no_backend, "layers/x.py", "from keras.src import backend"),
        (no_backend, "layers/x.py", "import keras\nkeras.src.backend.shape(1)"),
        (no_backend_name, "layers/x.py", "import keras\nkeras.backend.backend()"),
        (no_backend_name, "layers/x.py", "from keras.config import backend as b\nb()"),
        (no_backend_name, "workbench/datasets/x.py", "import os\nos.environ['KERAS_BACKEND']"),
        (arrows, "ops/x.py", "from keras_attnpool import layers"),
        (arrows, "ops/x.py", "from ..layers import AttentionPooling"),
        (arrows, "layers/x.py", "import keras_attnpool.models"),
        (arrows, "layers/x.py", "def f():\n    from keras_attnpool.workbench.datasets import load"),
        (arrows, "workbench/corpora/x.py", "from keras_attnpool.layers import AttentionPooling"),
        (arrows, "__init__.py", "from keras_attnpool.workbench import datasets"),
        (arrows, "helpers.py", "x = 1"),
        (lazy_optional, "workbench/text/x.py", "import tokenizers"),
        (
            lazy_optional,
            "workbench/text/x.py",
            "try:\n    import gensim\nexcept ImportError:\n    pass",
        ),
        (lazy_optional, "analysis/x.py", "from matplotlib import pyplot"),
        (lazy_optional, "workbench/cli/x.py", "def f():\n    import pandas"),
        (nothing_stored, "layers/x.py", "class A:\n def call(self, x):\n  self.scores = x"),
        (nothing_stored, "layers/x.py", "class A:\n def _f(self, x):\n  self.cache['s'] = x"),
        (nothing_stored, "layers/x.py", "class A:\n def call(self, x):\n  setattr(self, 's', x)"),
        (nothing_stored, "layers/x.py", "class A:\n def call(self, x):\n  self.s.append(x)"),
        (nothing_stored, "regularizers.py", "class A:\n def __call__(self, x):\n  self.n += 1"),
        *(
            (no_message_read, "workbench/cli/x.py", f"try: f()\nexcept ValueError as e:\n {read}")
            for read in ("re.search('a', str(e))", "g(str(e).replace('a', 'b'))", "'a' in f'{e}'")
        ),
        (no_message_read, "x.py", "try: f()\nexcept ValueError as e:\n t = g(e)\n P.sub('a', t)"),
        (no_message_read, "x.py", "def f(e: Exception):\n return P.sub('a', str(e))"),
    ],
)
def test_rule_catches(rule, module, source):
    assert faults(rule, module, source)


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (no_backend, "ops/x.py", "import keras\nfrom keras import ops\nkeras.ops.exp(1)"),
        (
            no_backend,
            "workbench/cli/x.py",
            "parser.add_argument('--backend', choices=['torch', 'jax'])",
        ),
        (no_backend_name, "ops/x.py", "import keras\nkeras.config.backend()"),
        (no_backend_name, "layers/x.py", "import keras\nkeras.backend.standardize_dtype('int32')"),
        (arrows, "layers/x.py", "from keras_attnpool.ops.masking import masked_softmax"),
        (arrows, "layers/x.py", "from keras_attnpool.layers.y import Y\nfrom . import z"),
        (arrows, "workbench/cli/x.py", "from keras_attnpool import models, workbench"),
        (arrows, "workbench/text/x.py", "from keras_attnpool.workbench._files import whole_file"),
        (
            lazy_optional,
            "workbench/text/x.py",
            "import json\nimport numpy as np\nfrom keras import ops",
        ),
        (lazy_optional, "workbench/text/x.py", "class A:\n def f(self):\n  import tokenizers"),
        (nothing_stored, "layers/x.py", "class A:\n def __init__(self, n):\n  self.n = n"),
        (nothing_stored, "layers/x.py", "class A:\n def call(self, x):\n  scores = self.f(x)"),
        (no_message_read, "x.py", "try: f()\nexcept E as e:\n if e.name in known: raise g(e.name)"),
        (
            nothing_stored,
            "workbench/text/x.py",
            "class V:\n def fit(self, texts):\n  self.words = texts",
        ),
    ],
)
def test_rule_lets_pass(rule, module, source):
    assert not faults(rule, module, source)


def public_names():
    """`(module name, name, object)` of every name that the packages offer."""
    packages = [keras_attnpool, keras_attnpool.workbench] + [
        importlib.import_module(info.name)
        for package in (keras_attnpool, keras_attnpool.workbench)
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
        if info.name.split(".")[-1] not in {"types", "workbench", "cli"}
        and not info.name.split(".")[-1].startswith("_")
    ]
    for module in packages:
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and (inspect.getmodule(value) or keras).__name__.startswith("keras_attnpool")
        ]
        for name in names:
            yield module.__name__, name, getattr(module, name)


def is_documented(value):
    """A docstring, and for what can be called an example in it (Python code, not prose)."""
    doc = inspect.getdoc(value) or ""
    if inspect.ismodule(value) or not callable(value):
        return bool(doc)
    return "Example" in doc and (">>> " in doc or "```python" in doc)


@pytest.mark.parametrize(
    "value", [pytest.param(v, id=f"{m}.{n}") for m, n, v in public_names() if n != "__version__"]
)
def test_public_name_is_documented(value):
    assert is_documented(value)


def test_documentation_check_sees_gaps():
    def bare(): ...

    def prose():
        """Does a thing."""

    assert not is_documented(bare)
    assert not is_documented(prose)


def test_rooms_are_listed():
    """In `__all__` and, for editors and type checkers, in the stub."""
    rooms = {room.split(".")[0] for room in ROOMS if not room.startswith(("_", "types"))}
    assert set(keras_attnpool.__all__) == rooms | {"ArgumentError"}
    stub = ast.parse((ROOT / "__init__.pyi").read_text(encoding="utf-8"))
    names = {name.split(".")[1] for name, _ in imported_names("__init__.py", stub)}
    assert names == rooms | {"_checks"}
    with pytest.raises(AttributeError, match="'keras_attnpool' has no attribute 'rooms'"):
        _ = keras_attnpool.rooms


def test_private_names_stay_in_their_room():
    """Layers alone may use private helpers of ops: the two are one library."""
    house = hook("house", ROOT.parent / "tools")
    trees = house.modules()
    assert [*house.private_across_rooms(trees)] == []
    trees["keras_attnpool.models.bigru"] = ast.parse(
        "from keras_attnpool.layers._masked import MaskedInputs\n"
        "from keras_attnpool.layers import names\nnames._made()"
    )
    found = [name for _, _, name in house.private_across_rooms(trees)]
    assert found == ["MaskedInputs", "_made"]


def test_a_page_weighs_what_it_names(tmp_path):
    """Each file once; links to pages, to places outside and to what is not there add nothing."""
    (tmp_path / "api").mkdir()
    (tmp_path / "site.css").write_bytes(b"123")
    page = '<link href="../site.css"><img src="../site.css?1"><a href="x.html">x</a>'
    page += '<img src="https://a.b/c.png"><img src="no.png">'
    (tmp_path / "api" / "x.html").write_text(page, encoding="utf-8")
    weights = hook("house", ROOT.parent / "tools").page_weights(tmp_path)
    assert weights == {"api/x.html": (len(page), 3)}
