"""The README says what was measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_figures_of_the_readme_are_those_of_the_reports():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "figures.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_the_readme_points_to_exists():
    import re

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
