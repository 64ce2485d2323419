"""Small runs that all tests of the command line share."""

import shutil

import pytest

from keras_attnpool.workbench.cli import main, readers, train

TRAINED = [
    "--encoder",
    "none",
    "--pooling",
    "lama",
    "--heads",
    "2",
    "--epochs",
    "1",
    "--hidden-units",
    "0",
]
TRAINED += ["--embedding-dim", "4", "--train-size", "40", "--test-size", "10", "--seed", "3"]


@pytest.fixture(scope="session", autouse=True)
def _one_length():
    """Batches of one shape: compiling is what takes the time here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "LENGTHS", 1)
        yield


@pytest.fixture(scope="session")
def cut_in_baseline(tmp_path_factory, _one_length):
    """A run on generated reviews that was interrupted when its baseline was to be trained."""
    run = tmp_path_factory.mktemp("cli") / "deep" / "run"
    fit = train._fit

    def fit_model(name, *rest):
        if name == "none + mean":
            raise KeyboardInterrupt
        fit(name, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_fit", fit_model)
        assert main(["train", *TRAINED, "--out", str(run)]) == 130
    return run


@pytest.fixture(scope="session")
def trained(cut_in_baseline, tmp_path_factory):
    """The same run, resumed: with baseline and report. To be copied, not changed."""
    run = tmp_path_factory.mktemp("trained") / "run"
    shutil.copytree(cut_in_baseline, run)
    assert main(["train", "--resume", "--out", str(run)]) == 0
    return run
