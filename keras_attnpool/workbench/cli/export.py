"""The command `export`."""

import json
import re
import shutil
import tempfile
import warnings
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import keras

from keras_attnpool.workbench.cli.errors import CommandError
from keras_attnpool.workbench.cli.options import FORMATS
from keras_attnpool.workbench.cli.readers import Words
from keras_attnpool.workbench.cli.reporting import reported
from keras_attnpool.workbench.cli.trained import Run


def export(given: dict[str, Any]) -> int:
    """Writes the model, its tokenizer and an example that runs without Keras.

    `given` are `run`, `out`, and perhaps `format`. Returns 0; a run that cannot be used or
    exported, or something at `out`, is a `CommandError`.
    """
    run, out, form = Run.load(Path(given["run"])), Path(given["out"]), given.get("format", "onnx")
    named = FORMATS[form]
    reader = run.reader
    if not isinstance(reader, Words) or reader.kind != "words":
        raise CommandError(
            f"{run.folder} reads {reader.kind}: export writes models that read words alone. In "
            "Python, keras_attnpool.workbench.load_run(RUN).model.export does what Keras can"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CommandError(f"--out {out} exists already: it must be a new folder")
    with reported("--out"):
        out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as name:
        folder = Path(name) / "whole"
        folder.mkdir()
        run.model(reader.encode(["a text"]))  # Keras writes ONNX only of models that were called
        try:
            with warnings.catch_warnings():  # a tracer tells of every number that it takes as fixed
                warnings.simplefilter("ignore")
                run.model.export(folder / named["file"], format=form, verbose=False)
        except Exception as error:  # whatever the converters of a backend raise
            reason = " ".join(str(error).split())[:300]
            advice = "another --format or KERAS_BACKEND may do"
            if re.search("not installed|No module", reason):
                advice = "what writes it is in the extra, pip install keras_attnpool[export]"
            raise CommandError(
                f"Keras cannot write this model as {form} under {keras.config.backend()} "
                f"({type(error).__name__}: {reason}): {advice}"
            ) from error
        reader.tokenizer.export(folder / "tokenizer.json")
        labels = json.dumps(run.label_names, ensure_ascii=False)
        (folder / "labels.json").write_text(labels + "\n", encoding="utf-8")
        example = resources.files(__package__).joinpath("export_example.txt").read_text("utf-8")
        code = Template(example).substitute(named, length=reader.max_length)
        (folder / "example.py").write_text(code, encoding="utf-8")
        if out.exists():
            out.rmdir()
        shutil.move(folder, out)
    print(f"{out}: {named['file']}, tokenizer.json, labels.json and example.py, which uses them:")
    print(f'python {out}/example.py "a text"')
    return 0
