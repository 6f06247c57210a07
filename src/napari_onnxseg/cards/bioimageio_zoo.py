"""What takes the package ``bioimageio.spec``: models by their name in the zoo, and validation.

It comes with the extra ``bioimageio``; reading packages does not need it.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.download import OFFLINE_VARIABLE
from napari_onnxseg.cards.packages import cache_folder
from napari_onnxseg.errors import DownloadError, ModelError

_NAME = re.compile(r"[a-z]+(-[a-z]+)+(/\d+(\.\d+)*)?")


def is_available() -> bool:
    """Tell whether ``bioimageio.spec`` is installed."""
    try:
        return find_spec("bioimageio.spec") is not None
    except (ImportError, ValueError):
        return False


def is_name(text: str) -> bool:
    """Tell whether a text could be the name of a model in the zoo."""
    return _NAME.fullmatch(text) is not None


def validated(path: Path) -> tuple[str, ...]:
    """Hold a description against the whole specification.

    Parameters
    ----------
    path : Path
        The description, or a zip file with it.

    Returns
    -------
    tuple of str
        A sentence for each fault; empty when it is valid.

    Raises
    ------
    ModelError
        When ``bioimageio.spec`` is not installed.
    """
    found = _spec().load_description(path, perform_io_checks=False)
    faults = [error for detail in found.validation_summary.details for error in detail.errors]
    return tuple(f"{'.'.join(map(str, fault.loc)) or 'all'}: {fault.msg}" for fault in faults)


def fetched(name: str) -> Path:
    """Bring a model of the zoo onto this computer.

    Parameters
    ----------
    name : str
        As the zoo calls it, such as ``affable-shark``, with a version or without.

    Returns
    -------
    Path
        A zip file under `cache_folder`, with the ONNX weights alone.

    Raises
    ------
    ModelError
        When the name is none, or ``bioimageio.spec`` is not installed.
    DownloadError
        When it cannot be brought, or downloads are switched off.
    """
    if not is_name(name):
        raise ModelError(
            f"'{name}' is not the name of a model in the bioimage.io zoo; they look like "
            "affable-shark."
        )
    if os.environ.get(OFFLINE_VARIABLE, "").lower() not in ("", "0", "false", "no", "off"):
        raise DownloadError(
            f"Downloads are switched off ({OFFLINE_VARIABLE}); get '{name}' on another computer."
        )
    save = _spec().save_bioimageio_package
    place = cache_folder() / "zoo" / f"{name.partition('/')[0]}.zip"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    try:
        save(name, output_path=place, weights_priority_order=["onnx"])
    except Exception as fault:  # whatever validation and transfer raise
        reason = " ".join(f"{fault}".split())[:200]
        raise DownloadError(
            f"'{name}' cannot be brought from the bioimage.io zoo ({reason}); try again later, or "
            "download its package in a browser and add that."
        ) from fault
    return place


def _spec() -> Any:
    try:
        return import_module("bioimageio.spec")
    except ImportError:
        raise ModelError(
            "This takes the package bioimageio.spec; install it with "
            "'pip install napari-onnxseg[bioimageio]'."
        ) from None
