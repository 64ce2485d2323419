"""The version, the citation file and what the release check sees."""

import datetime
import importlib.util
import pathlib
import re
import shutil
import subprocess
import tomllib
from importlib import metadata

import pytest
import yaml

import keras_attnpool

pytestmark = pytest.mark.one_backend("files of the repository")

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TODAY = datetime.date(2030, 1, 2)
CITATION = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
# The keys of version 1.2.0 of the format that we use; all it demands are the first four.
KEYS = ["cff-version", "message", "title", "authors"]
KEYS += ["type", "license", "keywords", "references", "version", "date-released"]
REFERENCE_KEYS = {"type", "title", "authors", "year", "identifiers", "doi", "notes"}
REFERENCE_KEYS |= {"collection-title", "start", "end"}


def release():
    spec = importlib.util.spec_from_file_location("release", REPOSITORY / "tools" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_stands_in_one_place():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "keras_attnpool/__init__.py"
    assert release().version_of(REPOSITORY) == keras_attnpool.__version__
    assert metadata.version("keras_attnpool") == keras_attnpool.__version__
    # Where it is repeated, it is the same.
    assert CITATION.get("version", keras_attnpool.__version__) == keras_attnpool.__version__
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d[^\]]*)\]|is to become (\d+\.\d+\.\d+)\.", changelog, re.M)
    assert keras_attnpool.__version__ in newest.groups()


def test_the_citation_file_is_sound():
    assert CITATION["cff-version"] == "1.2.0"
    assert set(KEYS[:4]) <= set(CITATION) <= set(KEYS)
    for author in CITATION["authors"]:
        assert set(author) in ({"name"}, {"family-names", "given-names"})
    papers = CITATION["references"]
    assert len(papers) == 5
    for paper in papers:
        assert {"type", "title", "authors", "year"} <= set(paper) <= REFERENCE_KEYS
        assert paper["type"] in {"article", "conference-paper"}
        assert all(set(author) == {"family-names", "given-names"} for author in paper["authors"])
        assert isinstance(paper["year"], int)
        assert re.match(r"10\.\d{4,}/\S+$", paper["doi"]) if "doi" in paper else True
        for each in paper.get("identifiers", []):
            assert each["type"] == "other" and re.match(r"arXiv:\d{4}\.\d{5}$", each["value"])
        assert "doi" in paper or paper["identifiers"]
    names = " ".join(paper["notes"] for paper in papers)
    assert all(name in names for name in ("LAMA", "HCAN", "MPSAN", "Generalized Pooling", "SAM"))


@pytest.fixture
def tree(tmp_path):
    """A tree that can be released as 1.2.3."""
    (tmp_path / "keras_attnpool").mkdir()
    (tmp_path / "keras_attnpool" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    text = f"# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - {TODAY}\n\n- All of it.\n"
    (tmp_path / "CHANGELOG.md").write_text(text)
    (tmp_path / "CITATION.cff").write_text(f"version: 1.2.3\ndate-released: {TODAY}\n")
    golden = tmp_path / "tests" / "golden" / "1.2.3"
    golden.mkdir(parents=True)
    (golden / "model_0.keras").write_text("x")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *command], check=True)
    return tmp_path


def test_a_tree_that_is_ready(tree):
    assert release().faults(tree, TODAY) == []


def _replace(path, old, new):
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda t: _replace(t / "CHANGELOG.md", f" - {TODAY}", ""), "has no heading"),
        (lambda t: _replace(t / "CHANGELOG.md", str(TODAY), "2029-01-01"), "dates 1.2.3 2029"),
        (lambda t: _replace(t / "CHANGELOG.md", "ed]\n", "ed]\n\n- more\n"), "[Unreleased]"),
        (lambda t: _replace(t / "CITATION.cff", "1.2.3", "1.2.2"), "has version 1.2.2"),
        (lambda t: _replace(t / "CITATION.cff", "date-released", "date"), "date-released None"),
        (lambda t: shutil.rmtree(t / "tests"), "tests/golden/1.2.3 has no files"),
        (lambda t: (t / "new.py").write_text("x"), "the tree is not clean:\n?? new.py"),
        (lambda t: subprocess.run(["git", "-C", str(t), "tag", "v1.2.3"], check=True), "exists"),
        (
            lambda t: _replace(t / "keras_attnpool" / "__init__.py", "1.2.3", "1.2.3.dev0"),
            "not three numbers",
        ),
    ],
)
def test_what_keeps_a_tree_back_is_said(tree, spoil, fault):
    spoil(tree)
    assert any(fault in each for each in release().faults(tree, TODAY))
