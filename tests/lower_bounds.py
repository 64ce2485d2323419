"""Prints the lowest versions that pyproject.toml declares, as requirements: `keras==3.10 ...`."""

import re
import tomllib
from pathlib import Path


def lowest(requirements: list[str]) -> list[str]:
    """`name>=version` as `name==version`; a requirement without a lower bound is an error."""
    pinned = []
    for requirement in requirements:
        found = re.fullmatch(r"([A-Za-z0-9_-]+)>=([0-9.]+)(,.*)?", requirement)
        if not found:
            raise ValueError(f"{requirement!r} in pyproject.toml has no lower bound")
        pinned.append(f"{found[1]}=={found[2]}")
    return pinned


if __name__ == "__main__":
    path = Path(__file__).resolve().parent.parent / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    print(*lowest([*project["dependencies"], *extras["jax"]]))
