"""What a fault looks like on the command line, and which exit code it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from napari_onnxseg.cli.screen import print_json, say
from napari_onnxseg.errors import (
    CancelledError,
    ChoiceError,
    DeviceError,
    ModelNotFoundError,
    OnnxSegError,
    TileError,
)
from napari_onnxseg.pipeline.folder_outcome import describe as describe


class ExitCode(IntEnum):
    """What the shell gets back."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DEVICE = 3
    CANCELLED = 130


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code that stands for a fault.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    ExitCode
        ``USAGE`` for what was typed wrongly, ``DEVICE`` for a device that refuses,
        ``CANCELLED`` for Ctrl-C, otherwise ``FAILED``.
    """
    if isinstance(error, (ChoiceError, TileError, ModelNotFoundError)):
        return ExitCode.USAGE
    if isinstance(error, DeviceError):
        return ExitCode.DEVICE
    if isinstance(error, (CancelledError, KeyboardInterrupt)):
        return ExitCode.CANCELLED
    return ExitCode.FAILED


@contextmanager
def told(as_json: bool) -> Iterator[None]:
    """Turn a fault inside the block into one line (or one JSON object) and an exit code."""
    try:
        yield
    except (OnnxSegError, OSError, KeyboardInterrupt) as error:
        code = exit_code(error)
        message = "Cancelled." if code is ExitCode.CANCELLED else describe(error)
        if as_json:
            print_json({"exit_code": int(code), "error": message})
        say(f"[red]{'' if code is ExitCode.CANCELLED else 'Error: '}[/red]", message)
        raise typer.Exit(code) from error
