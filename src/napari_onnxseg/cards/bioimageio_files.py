"""Where a bioimage.io model is: its description in a folder or a zip file.

References
----------
`bioimage.io specification <https://github.com/bioimage-io/spec-bioimage-io>`_: a folder or a
zip file with ``rdf.yaml``, ``bioimageio.yaml``, ``model.yaml`` or one ``*.bioimageio.yaml``.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from napari_onnxseg.cards.packages import unpack
from napari_onnxseg.errors import ModelError, ModelNotFoundError

SUFFIXES = (".zip", ".yaml", ".yml")
"""Suffixes of what may be such a model."""

NAMES = ("bioimageio.yaml", "rdf.yaml", "model.yaml")
"""Names of a description, the first that is there counts."""

ENDING = ".bioimageio.yaml"
"""End of the name of a description in a folder that holds several."""

MOST_BYTES = 1 << 19
"""Size of a description that is read."""

MOST_NODES = 100_000
"""Entries of a description, those counted each time that stand in several places."""

_IS_MODEL = re.compile(rb"""^["']?type["']?\s*:\s*["']?model\b""", re.MULTILINE)
_NO_ZIP = (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile)
_UNREADABLE = (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError)


def is_offered(path: Path) -> bool:
    """Tell at a glance whether a file is such a model; nothing is unpacked.

    Parameters
    ----------
    path : Path
        A zip file, a YAML file or a folder.

    Returns
    -------
    bool
        False for all that holds no description of a model, or cannot be read.
    """
    try:
        if path.is_dir():
            return _in_folder(path) is not None
        if path.suffix.lower() == ".zip":
            return _is_offered_zip(path)
        return _is_description(path.name) and _IS_MODEL.search(_head(path)) is not None
    except _NO_ZIP:
        return False


def find_description(path: Path) -> Path:
    """Return the description of a model, unpacked where it came in a zip file.

    Parameters
    ----------
    path : Path
        Folder, zip file, or the description itself.

    Returns
    -------
    Path
        The YAML file.

    Raises
    ------
    ModelNotFoundError
        When there is no such file.
    ModelError
        When there is no description in it, or the zip file is harmful.
    """
    if not path.exists():
        raise ModelNotFoundError(f"There is no model file '{path}'.")
    if not path.is_dir() and path.suffix.lower() != ".zip":
        return path
    if not path.is_dir() and _holds_nothing(path):
        raise _nothing_in(path)
    found = _in_folder(path if path.is_dir() else unpack(path))
    if found is None:
        raise _nothing_in(path)
    return found


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Read a description; nothing in it is run, and it cannot grow beyond bounds.

    Parameters
    ----------
    path : Path
        The YAML file.

    Returns
    -------
    mapping
        Its entries.

    Raises
    ------
    ModelError
        When it is too large, no YAML, or no object.
    """
    text = _head(path)
    if len(text) > MOST_BYTES:
        raise ModelError(
            f"The description '{path}' is larger than {MOST_BYTES >> 10} kB; no model needs that."
        )
    try:
        content = _content(text)
    except _UNREADABLE as fault:
        reason = " ".join(str(fault).split())[:200]
        raise ModelError(f"The description '{path}' is not valid YAML ({reason}).") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ModelError(f"The description '{path}' holds no named entries.")
    return content


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _content(text: bytes) -> Any:
    """Return what a YAML text holds."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _require_small(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _require_small(root: yaml.Node) -> None:
    """Raise for aliases that make a small text huge, or endless."""
    sizes: dict[int, int] = {}

    def size_of(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is not None:
            if not known:
                raise ValueError("an entry holds itself")
            return known
        sizes[id(node)] = 0
        total = 1 + sum(map(size_of, _children(node)))
        if total > MOST_NODES:
            raise ValueError(f"it holds more than {MOST_NODES} entries")
        sizes[id(node)] = total
        return total

    size_of(root)


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _is_description(name: str) -> bool:
    return name in NAMES or name.endswith(ENDING)


def _is_offered_zip(path: Path) -> bool:
    """Tell whether a zip file holds a description, at the top or in its one folder."""
    with zipfile.ZipFile(path) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    return any(len(name.parts) <= 2 and _is_description(name.name) for name in names)


def _holds_nothing(path: Path) -> bool:
    """Tell whether a zip file that can be read holds no description."""
    try:
        return not _is_offered_zip(path)
    except _NO_ZIP:
        return False


def _in_folder(folder: Path) -> Path | None:
    """Return the description in a folder, or in the only folder that is in it."""
    found = _at_top(folder)
    if found is not None:
        return found
    inner = [p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(("_", "."))]
    return _at_top(inner[0]) if len(inner) == 1 else None


def _at_top(folder: Path) -> Path | None:
    named = [folder / name for name in NAMES if (folder / name).is_file()]
    others = sorted(p for p in folder.glob(f"*{ENDING}") if p.is_file())
    return named[0] if named else others[0] if len(others) == 1 else None


def _nothing_in(path: Path) -> ModelError:
    names = ", ".join(NAMES)
    if path.is_dir():
        return ModelError(
            f"'{path}' is a folder without a description of a model ({names}); choose the .onnx "
            "file in it."
        )
    return ModelError(
        f"The zip file '{path}' holds no description of a model ({names}); unpack it and choose "
        "the .onnx file."
    )
