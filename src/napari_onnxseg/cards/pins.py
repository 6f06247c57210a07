"""What a downloaded model hashed to, kept beside it, so that a changed file is noticed."""

from __future__ import annotations

from pathlib import Path

from napari_onnxseg.errors import ModelError


def pin_path(model: Path) -> Path:
    """Return the file that holds the hash of a model.

    Parameters
    ----------
    model : Path
        The ``.onnx`` file.

    Returns
    -------
    Path
        ``<model>.onnx.sha256`` beside it, in the form that ``sha256sum -c`` reads.
    """
    return model.with_name(f"{model.name}.sha256")


def write_pin(model: Path, sha256: str) -> None:
    """Record what a model hashes to.

    Parameters
    ----------
    model : Path
        The ``.onnx`` file.
    sha256 : str
        Its hash, hexadecimal.
    """
    pin_path(model).write_text(f"{sha256}  {model.name}\n", encoding="utf-8")


def read_pin(model: Path) -> str | None:
    """Return what a model hashed to when it was downloaded.

    Parameters
    ----------
    model : Path
        The ``.onnx`` file.

    Returns
    -------
    str or None
        Hexadecimal; None for a file that was not downloaded by this package.
    """
    try:
        return pin_path(model).read_text(encoding="utf-8").split()[0].lower()
    except (OSError, IndexError, ValueError):
        return None


def require_pinned(model: Path, sha256: str) -> None:
    """Refuse a downloaded model that has changed since.

    Parameters
    ----------
    model : Path
        The ``.onnx`` file.
    sha256 : str
        What it hashes to now.

    Raises
    ------
    ModelError
        Saying how to get the original back.
    """
    pinned = read_pin(model)
    if pinned not in (None, sha256.lower()):
        raise ModelError(
            f"'{model}' has changed since it was downloaded (SHA-256 {sha256[:12]}…, it was "
            f"{pinned[:12]}…); get it again with 'onnxseg models remove {model.stem}' and "
            f"'onnxseg models download {model.stem}', or give your own model another name."
        )
