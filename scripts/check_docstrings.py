"""Check public docstrings against the numpydoc rules listed in ``pyproject.toml``.

numpydoc's own command reads the source without running it, so that it does not know the
parameters of a dataclass; this one imports the package. Docstrings of one line are for what
needs no more, and are checked for their form only.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from numpydoc.validate import validate

import napari_onnxseg

ROOT = Path(__file__).parents[1]
FORM = ("GL", "SS")
QT_PARENT = "Parameters {'parent'} not documented"  # every widget of Qt has one, of one meaning


def main() -> int:
    """Print every violation and return the exit code."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    checks = set(settings["tool"]["numpydoc_validation"]["checks"])
    faults = [fault for name, value in documented() for fault in violations(name, value, checks)]
    print("\n".join(faults) if faults else "public docstrings: kept")
    return bool(faults)


def violations(name: str, value: Any, checks: set[str]) -> Iterator[str]:
    """Yield what is wrong with one docstring."""
    short = "\n" not in (inspect.getdoc(value) or "").strip()
    for code, message in validate(name)["errors"]:
        if message == QT_PARENT:
            continue
        if code in checks and not (short and not code.startswith(FORM)):
            yield f"{name}: {code} {message}"


def documented() -> Iterator[tuple[str, Any]]:
    """Yield every public function, class and method that we define."""
    for module in pkgutil.walk_packages(napari_onnxseg.__path__, "napari_onnxseg."):
        if "__main__" in module.name:
            continue
        for name, value in public(import_module(module.name), module.name):
            yield name, value
            if inspect.isclass(value):
                yield from public(value, module.name, name)


def public(owner: Any, module: str, prefix: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes that ``owner`` itself defines."""
    for name, raw in vars(owner).items():
        value = getattr(raw, "__func__", raw)
        kind = inspect.isfunction(value) or inspect.isclass(value)
        if kind and not name.startswith("_") and value.__module__ == module:
            yield f"{prefix or module}.{name}", value


if __name__ == "__main__":
    sys.exit(main())
