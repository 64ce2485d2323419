"""The command line under every backend: a run that was interrupted, resumed, used and explained."""

import json

import keras
import pytest

from keras_attnpool.workbench.cli import main

pytestmark = pytest.mark.every_backend


def test_train_resume_predict_and_explain(trained, tmp_path, capsys):
    config = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    assert config["backend"] == keras.config.backend()
    report = (trained / "report.html").read_text(encoding="utf-8")
    assert "none + lama" in report and "none + mean" in report
    assert main(["predict", str(trained), "Good food."]) == 0
    assert "star" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["explain", str(trained), "Good food.", "--out", str(page)]) == 0
    assert "food" in page.read_text(encoding="utf-8") and "food" in capsys.readouterr().out
