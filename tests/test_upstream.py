"""Each fault of others that we go around has a file with a short program; the code names it."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_backend("reads files")

REPOSITORY = Path(__file__).parent.parent
PAGES = sorted((REPOSITORY / "docs" / "upstream").glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_fault_has_a_program_and_a_place_in_the_code(path):
    text = path.read_text(encoding="utf-8")
    (program,) = re.findall(r"^```py\n(.*?)^```", text, re.M | re.S)
    assert len(program.splitlines()) <= 15
    compile(program, path.name, "exec")
    assert all(f"**{part}**" in text for part in ("Gives", "Right", "Workaround"))
    if "**Workaround**: none" in text:
        return
    (place,) = re.findall(r"`(\S+\.\w+)`\.$", text, re.M)
    assert f"docs/upstream/{path.name}" in (REPOSITORY / place).read_text(encoding="utf-8")


def test_the_code_names_files_that_exist():
    for source in (REPOSITORY / "keras_attnpool").rglob("*.py"):
        for name in re.findall(r"docs/upstream/(\S+?\.md)", source.read_text(encoding="utf-8")):
            assert (REPOSITORY / "docs" / "upstream" / name) in PAGES, (source, name)
