"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from napari_onnxseg.errors import FileFormatError, OnnxSegError


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Write a file that takes its name only once it is complete.

    Parameters
    ----------
    path : Path
        The file; an older one stays untouched until the new one is complete.

    Yields
    ------
    file
        Open for writing, in the same folder.

    Raises
    ------
    FileFormatError
        When the file cannot be written; nothing is left behind.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(unfinished, "xb") as file:
            yield file
        os.replace(unfinished, path)
    except OnnxSegError:
        raise
    except OSError as fault:
        raise FileFormatError(
            f"'{path}' cannot be written: {fault.strerror or fault}; "
            "choose another place, or make room there."
        ) from fault
    finally:
        unfinished.unlink(missing_ok=True)
