"""Run another tool in its own environment, with arrays and words in files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDES = Path(__file__).parent / "sides"


def ask(
    python: Path, side: str, folder: Path, request: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Run ``sides/<side>.py`` with a request; return what it says and the arrays it leaves.

    Parameters
    ----------
    python : Path
        Interpreter of an environment that holds the other tool.
    side : str
        Which script.
    folder : Path
        Where arrays are exchanged; those in the request are written as ``.npy`` there.
    request : mapping
        Plain values, paths, arrays.

    Returns
    -------
    tuple of dict and dict
        Words and numbers; arrays by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plain = {key: _plain(folder, key, value) for key, value in request.items()}
    (folder / "request.json").write_text(json.dumps(plain))
    done = subprocess.run(
        [python, SIDES / f"{side}.py", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{side} failed:\n{done.stderr[-3000:]}")
    answer = json.loads((folder / "answer.json").read_text())
    arrays = {path.stem[4:]: np.load(path) for path in sorted(folder.glob("out-*.npy"))}
    return answer, arrays


def _plain(folder: Path, key: str, value: Any) -> Any:
    """Write an array to a file; leave all else."""
    if isinstance(value, np.ndarray):
        np.save(folder / f"in-{key}.npy", value)
        return str(folder / f"in-{key}.npy")
    return str(value) if isinstance(value, Path) else value
