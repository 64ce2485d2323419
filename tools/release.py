"""Says what keeps the tree from being released as its version; changes and uploads nothing.

    python tools/release.py          # as `make release-check` calls it

Before it, `make release-check` runs `make wheel`, which uses the package where it is installed
alone, and `make same-bytes`, which builds it twice.
"""

import datetime
import re
import subprocess
import sys
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parent.parent


def version_of(folder: Path) -> str:
    """The version of the source, which is where all else takes it from."""
    text = (folder / "keras_attnpool" / "__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "([^"]+)"$', text, re.M)
    return found


def faults(folder: Path, today: datetime.date) -> list[str]:
    """What is missing, a line each; none is a tree that can be tagged."""
    version, found = version_of(folder), []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        found.append(f"__version__ is {version}, not three numbers")
    changelog = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## \[{re.escape(version)}\] - (\S+)$", changelog, re.M)
    if heading is None:
        found.append(f"CHANGELOG.md has no heading '## [{version}] - {today}'")
    elif heading[1] != str(today):
        found.append(f"CHANGELOG.md dates {version} {heading[1]}, today is {today}")
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if unreleased and unreleased[1].strip():
        found.append("CHANGELOG.md still has lines under [Unreleased]")
    citation = yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))
    for key, wanted in (("version", version), ("date-released", str(today))):
        if str(citation.get(key)) != wanted:
            found.append(f"CITATION.cff has {key} {citation.get(key)}, expected {wanted}")
    if not list((folder / "tests" / "golden" / version).glob("*.keras")):
        found.append(f"tests/golden/{version} has no files: python tests/golden.py writes them")
    changed = _git(folder, "status", "--porcelain")
    if changed:
        found.append("the tree is not clean:\n" + changed)
    if _git(folder, "tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists already")
    return found


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip()


def main() -> int:
    """Prints the faults; 1 if there are some."""
    found = faults(REPOSITORY, datetime.date.today())
    for fault in found:
        print(f"release: {fault}", file=sys.stderr)
    if not found:
        print(f"release: v{version_of(REPOSITORY)} can be tagged")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
