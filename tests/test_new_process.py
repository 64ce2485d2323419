"""What only a new process shows: light imports, no network, a terminal of few characters.

One process tells all of it: what takes the time is to import Keras.
"""

import json
import os
import subprocess
import sys

import keras
import pytest

import keras_attnpool

pytestmark = pytest.mark.every_backend

# Every way out of a process is a connection, a datagram or a question for a name.
SCRIPT = r"""
import json, runpy, socket, sys

def refuse(*args, **kwargs):
    raise AssertionError(f"asks for the network: {args[1:] if args else kwargs}")

for name in ("connect", "connect_ex", "sendto", "sendmsg"):
    setattr(socket.socket, name, refuse)
for name in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, name, refuse)

import keras

def added():
    return sorted({name.split(".")[0] for name in set(sys.modules) - before})

before = set(sys.modules)
import keras_attnpool
at_once = sorted(name for name in sys.modules if name.count(".") == 1 and "attnpool" in name)
rooms = {name: bool(getattr(keras_attnpool, name).__doc__) for name in dir(keras_attnpool)}
seen = {"backend": keras.config.backend(), "at_once": at_once, "rooms": rooms, "light": added()}
import tokenizers
seen["heavier"] = added()

import numpy as np
from keras_attnpool import analysis, layers, models, ops, regularizers
from keras_attnpool.workbench import corpora, text
import keras_attnpool.workbench.cli as cli

data = corpora.reviews(20, seed=0)
tokenizer = text.WordTokenizer.train(data.texts)
model = models.AverageEmbedding(tokenizer.vocabulary_size, data.num_classes, embedding_dim=2)
model.compile("sgd", "sparse_categorical_crossentropy")
ids = tokenizer.encode(data.texts)
model.fit(ids, data.labels, verbose=0)
seen["trained"] = bool(np.isfinite(model.predict(ids, verbose=0)).all())
try:
    socket.create_connection(("192.0.2.1", 80))
except AssertionError:
    seen["guarded"] = True
print(json.dumps(seen))

cli.main = lambda: print("caf\xe9 \ud800")
sys.argv = ["x", "--help"]
runpy.run_module("keras_attnpool", run_name="__main__")
"""


@pytest.fixture(scope="module")
def lines():
    """What the process printed, to a terminal that knows ASCII alone."""
    chosen = {"KERAS_BACKEND": keras.config.backend(), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=os.environ | chosen | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def seen(lines):
    return json.loads(lines[0])


def test_import_is_light(seen):
    # Nothing but ourselves and the standard library: no backend, nothing optional.
    assert set(seen["light"]) - set(sys.stdlib_module_names) == {"keras_attnpool"}


def test_a_bare_import_offers_every_room(seen):
    """It loads only those that register what `load_model` looks for; no room needs an extra."""
    assert all(seen["rooms"][room] for room in keras_attnpool.__all__)
    later = {f"keras_attnpool.{room}" for room in ("analysis", "corpora", "datasets", "text")}
    assert not later & set(seen["at_once"])
    assert {"keras_attnpool.layers", "keras_attnpool.models"} <= set(seen["at_once"])


def test_light_import_check_sees_more(seen):
    assert "tokenizers" in seen["heavier"]


def test_import_train_and_predict_without_a_network(seen):
    assert seen["backend"] == keras.config.backend()
    assert seen["trained"] and seen["guarded"]


def test_a_terminal_that_lacks_a_character(lines):
    """What cannot be shown is shown by its code."""
    assert lines[1:] == [r"caf\xe9 \ud800"]
