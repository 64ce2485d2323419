"""Nothing is fetched: not at import, not in training, and not by any test."""

import os
import socket
import subprocess
import sys
import textwrap

import keras
import pytest

# Every way out of a process is a connection, a datagram or a question for a name.
WITHOUT_NETWORK = """
import socket, sys

def refuse(*args, **kwargs):
    raise AssertionError(f"asks for the network: {args[1:] if args else kwargs}")

for name in ("connect", "connect_ex", "sendto", "sendmsg"):
    setattr(socket.socket, name, refuse)
for name in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, name, refuse)

import numpy as np
import keras
import keras_attnpool
from keras_attnpool import analysis, datasets, layers, models, ops, regularizers, text
import keras_attnpool.cli

data = datasets.reviews(20, seed=0)
tokenizer = text.WordTokenizer.train(data.texts)
model = models.AverageEmbedding(tokenizer.vocabulary_size, data.num_classes, embedding_dim=2)
model.compile("sgd", "sparse_categorical_crossentropy")
ids = tokenizer.encode(data.texts)
model.fit(ids, data.labels, verbose=0)
assert np.isfinite(model.predict(ids, verbose=0)).all()
assert sys.argv[1] == keras.config.backend()
try:
    socket.create_connection(("192.0.2.1", 80))
except AssertionError:
    print("done")
"""


def test_import_train_and_predict_without_a_network():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_NETWORK), keras.config.backend()],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().endswith("done")


@pytest.mark.parametrize("call", ["connect", "connect_ex"])
def test_a_test_cannot_leave_this_machine(call):
    """The guard of conftest.py; 192.0.2.1 is reserved for documentation and answers nobody."""
    with socket.socket() as outside, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        outside.settimeout(0.1)
        getattr(outside, call)(("192.0.2.1", 80))


def test_names_are_not_asked_for():
    with pytest.raises(RuntimeError, match=r"example\.org"):
        socket.getaddrinfo("example.org", 80)


def test_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost"):
            with socket.create_connection((host, server.getsockname()[1]), timeout=5):
                pass
