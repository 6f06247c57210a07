"""Packages that only some users need, each found in an extra of ours."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from napari_onnxseg.errors import FileFormatError


def need(package: str, extra: str, what: str) -> Any:
    """Import a package of an extra.

    Parameters
    ----------
    package : str
        Module to import.
    extra : str
        Extra that brings it.
    what : str
        What it is for, as the subject of a sentence.

    Returns
    -------
    module
        The package.

    Raises
    ------
    FileFormatError
        Naming the extra to install.
    """
    try:
        return import_module(package)
    except ImportError as fault:
        raise FileFormatError(
            f"{what} needs the package '{package.split('.')[0]}'; install it with: "
            f"pip install 'napari-onnxseg[{extra}]'."
        ) from fault
