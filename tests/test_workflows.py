"""The workflows of GitHub: what they may do, what they run, and whose code."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.one_backend("reads the workflows")

REPOSITORY = Path(__file__).parent.parent
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: (?:[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+|\./\S+)$")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_can_read_and_runs_what_is_known(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"} and "concurrency" in workflow
    granted = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    assert granted in ([], [{"id-token": "write"}])
    for line in text.splitlines():
        assert "uses:" not in line or PINNED.search(line), line
    steps = [step for job in workflow["jobs"].values() for step in job.get("steps", ())]
    commands = [step["run"] for step in steps if "run" in step]
    # A value that others choose must not become a part of a script.
    assert not [command for command in commands if "${{" in command]
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make \"?([\w$-]+)", "\n".join(commands)):
        names = [target.replace("$BACKEND", name) for name in ("tensorflow", "torch", "jax")]
        assert all(re.search(rf"^[^\t#\n]*\b{name}\b[^=]*:", makefile, re.M) for name in names)


def test_the_workflows_know_every_backend_and_python():
    spec = importlib.util.spec_from_file_location("versions", REPOSITORY / "tools" / "versions.py")
    versions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(versions)
    tests = yaml.safe_load((REPOSITORY / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    matrix = tests["jobs"]["python"]["strategy"]["matrix"]
    assert sorted(matrix["backend"]) == ["jax", "tensorflow", "torch"]
    assert {*tests["jobs"]["keras"]["strategy"]["matrix"]["row"]} == {
        name for name in versions.rows() if not name[0].isdigit() and name != "keras-nightly"
    }
    nightly = yaml.safe_load(
        (REPOSITORY / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
    )
    newest = nightly["jobs"]["newest"]["strategy"]["matrix"]
    rows = {f"{python}-{name}" for python in newest["python"] for name in newest["backend"]}
    assert rows == {name for name in versions.rows() if name[0].isdigit()}
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"Python :: (3\.\d+)", project) == ["3.11", *matrix["python"]]


def test_what_is_uploaded_was_used_where_nothing_else_is():
    path = REPOSITORY / ".github" / "workflows" / "release.yml"
    build = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["build"]
    made = " ".join(step["run"] for step in build["steps"] if "make " in step.get("run", ""))
    assert {"same-bytes", "test-extras", "test-serve"} <= set(made.split())
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    # One run of `make` builds the wheel once for both.
    assert len(re.findall(r"^test-(?:extras|serve): wheel ", makefile, re.M)) == 2
