"""Print what the core needs to be tested: our requirements without the window libraries."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

WINDOWS = {"napari", "npe2", "magicgui", "qtpy", "superqt", "pytest-qt"}
QUOTED = '"{}"'


def main() -> None:
    """Print one quoted requirement a line, for ``xargs``."""
    content = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(content)["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["testing"]
    core = [line for line in needed if re.split(r"[^A-Za-z0-9_-]", line)[0].lower() not in WINDOWS]
    print(*(QUOTED.format(line) for line in core), sep="\n")


if __name__ == "__main__":
    main()
