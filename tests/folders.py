"""What tests of folders share."""

from __future__ import annotations

from pathlib import Path

from napari_onnxseg.pipeline.folder_ledger import LEDGER

UNIT = {"input": {"normalization": {"method": "unit"}}}


def results(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder of results, without the ledger."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LEDGER]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}
