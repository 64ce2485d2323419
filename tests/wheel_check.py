"""Run by `make wheel` and `make test-extras` in an environment of the wheel and one backend.

Checks that the wheel holds the package and nothing else, that it works where no other backend
and no optional package is installed, and that it is not the source tree that was imported.
"""

import importlib.metadata
import importlib.util
import os
import re
import sys
import zipfile
from pathlib import Path

BACKENDS = ["jax", "tensorflow", "torch"]
OPTIONAL = ["tokenizers", "gensim", "matplotlib", "sklearn", "keras_hub"]


def check_contents(wheel: Path, source: Path) -> None:
    """The wheel's files are the files of the source package, plus its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {n for n in archive.namelist() if ".dist-info/" not in n}
    expected = {
        path.relative_to(source.parent).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == expected, f"missing {expected - packed}, too much {packed - expected}"
    assert "keras_attnpool/py.typed" in packed


def check_use(source: Path) -> None:
    """The installed package trains a model that pools by attention."""
    others = [name for name in BACKENDS if name != os.environ["KERAS_BACKEND"]]
    present = [name for name in OPTIONAL + others if importlib.util.find_spec(name)]
    assert not present, f"the environment is not clean: {present}"

    import keras
    import numpy as np

    import keras_attnpool
    from keras_attnpool.layers import LowRankAttentionPooling

    installed = Path(keras_attnpool.__file__).resolve().parent
    assert installed != source, f"imported from the source tree: {installed}"
    assert importlib.metadata.version("keras_attnpool") == keras_attnpool.__version__

    # Their word lists and the descriptions of the public sets are data files of the package.
    assert len(keras_attnpool.workbench.corpora.sentence_pairs(10)) == 10
    assert "r8" in keras_attnpool.workbench.datasets.available()

    tokens = keras.Input((None,), dtype="int32")
    states = keras.layers.Embedding(50, 8, mask_zero=True)(tokens)
    pooled = LowRankAttentionPooling(num_heads=2)(states)
    model = keras.Model(tokens, keras.layers.Dense(1)(pooled))
    model.compile("adam", "mse")
    x = np.array([[3, 4, 5, 0], [7, 0, 0, 0]])
    model.fit(x, np.ones((2, 1)), verbose=0)
    assert np.isfinite(model.predict(x, verbose=0)).all()


def run_first_example(readme: Path) -> None:
    """What README shows first runs as it stands there."""
    example = re.search(r"^```python\n(.*?)^```", readme.read_text(encoding="utf-8"), re.M | re.S)
    exec(compile(example[1], str(readme), "exec"), {"__name__": "example"})


if __name__ == "__main__":
    package = Path(__file__).resolve().parent.parent / "keras_attnpool"
    if sys.argv[1].endswith(".md"):
        run_first_example(Path(sys.argv[1]))
    else:
        check_contents(Path(sys.argv[1]), package)
        check_use(package)
    print(f"{sys.argv[1]} with {os.environ['KERAS_BACKEND']} alone: ok")
