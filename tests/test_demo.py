"""`make demo`: its model answers the sentences of our own examples rightly."""

import subprocess

import numpy as np
import pytest
from docs_hooks import DOCS, REPOSITORY

import keras_attnpool
from keras_attnpool.workbench import datasets
from keras_attnpool.workbench.cli import main

pytestmark = pytest.mark.every_backend

# By how much the right answer is likelier than the next.
MARGIN = 0.2


def made(name):
    """The value of a variable of the Makefile."""
    command = ["make", "--no-print-directory", f"--eval=show:;@echo $({name})", "show"]
    return subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.split()


def answered(run, seed):
    """Trains the demo, and compares its answers with the list."""
    sentences = datasets.load_tsv(DOCS / "assets" / "sentences.tsv")
    assert len(sentences) >= 10
    options = [*made("DEMO_TRAIN"), "--no-baseline", "--seed", str(seed)]
    assert main(["train", *options, "--out", str(run)]) == 0
    trained = keras_attnpool.load_run(run)
    right = [trained.label_names.index(sentences.label_names[each]) for each in sentences.labels]
    rows = np.arange(len(right))
    others = trained.probabilities(sentences.texts)
    own = others[rows, right]
    others[rows, right] = 0
    margins = own - others.max(axis=1)
    assert {text: m for text, m in zip(sentences.texts, margins, strict=True) if m < MARGIN} == {}


@pytest.mark.one_backend("test_two_seeds_are_right under each")
@pytest.mark.timeout(900)
def test_every_sentence_is_answered_rightly(tmp_path):
    answered(tmp_path / "demo", 0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [0, 1])
def test_two_seeds_are_right(tmp_path, seed):
    answered(tmp_path / "demo", seed)
