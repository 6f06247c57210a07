"""Scripts that need a process of their own: memory is counted and limited by process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent

MEMORY = """
import gc, resource, sys
import numpy as np
from pathlib import Path

def now_mib(field):
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith(field + ':'):
            return int(line.split()[1]) / 1024
    raise LookupError(field)

def limit_mib(mib):
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if mib is None else int(mib * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
"""


def run_child(code: str, folder: Path, *, timeout_s: float = 100) -> str:
    """Run code in a new interpreter inside a folder and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
