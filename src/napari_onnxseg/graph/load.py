"""Open an ONNX file without its weights, or say in one sentence why it is none."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from napari_onnxseg.errors import ModelError, ModelNotFoundError, OnnxSegError

MOST_BYTES = (1 << 31) - 1
"""What a protobuf message can hold."""

LONGEST = 200
"""Characters of a foreign message that are shown."""


def read_model(path: Path) -> onnx.ModelProto:
    """Read the graph; tensors kept in side files stay there.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.

    Returns
    -------
    onnx.ModelProto
        The model, with at least one node and one output.

    Raises
    ------
    ModelError
        When the file is missing, is no ONNX model, or its side files are missing.
    """
    model = parse_model(path)
    require_side_files(side_files(model), path)
    _refuse_cut_short(model, path)
    return model


def parse_model(path: Path) -> onnx.ModelProto:
    """Read the graph alone; whether its side files are there is not looked at.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.

    Returns
    -------
    onnx.ModelProto
        The model, with at least one node and one output.

    Raises
    ------
    ModelError
        When the file is missing or is no ONNX model.
    """
    refuse_others(path)
    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError:
        raise ModelError(
            f"'{path}' is not an ONNX model, or it is cut short; export or download it again."
        ) from None
    if not model.graph.node or not model.graph.output:
        raise ModelError(f"'{path}' holds no network; choose an ONNX file exported from one.")
    return model


@contextmanager
def followed(path: Path) -> Iterator[None]:
    """Turn what a graph that breaks the rules of the format fails with into one sentence.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file that is read in the block.

    Yields
    ------
    None
        Nothing.

    Raises
    ------
    ModelError
        With the first fault; our own faults pass as they are.
    """
    try:
        yield
    except OnnxSegError:
        raise
    except Exception as error:  # there are as many ways to fail as there are rules
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        raise ModelError(
            f"'{path}' breaks the rules of the ONNX format ({reason}); export or download it again."
        ) from error


def side_files(model: onnx.ModelProto) -> tuple[str, ...]:
    """Return the locations of the tensors that are kept beside the file, each once."""
    found = {
        entry.value
        for tensor in model.graph.initializer
        if tensor.data_location == onnx.TensorProto.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return tuple(sorted(found))


def refuse_others(path: Path) -> None:
    """Raise for what can be told without reading the file.

    Parameters
    ----------
    path : Path
        Of the ``.onnx`` file.

    Raises
    ------
    ModelError
        When it is missing, empty, too large, or something else.
    """
    for wrong, error in _objections(path):
        if wrong:
            raise error


def _objections(path: Path) -> Iterator[tuple[bool, ModelError]]:
    yield not path.exists(), ModelNotFoundError(f"There is no model file '{path}'.")
    yield path.is_dir(), ModelError(f"'{path}' is a folder; choose the .onnx file in it.")
    size = path.stat().st_size
    yield (
        size == 0,
        ModelError(f"'{path}' is empty; export or download the model again."),
    )
    yield (
        size > MOST_BYTES,
        ModelError(
            f"'{path}' has {size / 1e9:.1f} GB, and an ONNX file holds at most 2 GB; "
            "export the model with its weights in a file beside it."
        ),
    )
    yield (
        zipfile.is_zipfile(path),
        ModelError(f"'{path}' is a zip archive, not an ONNX file; unpack it and choose the .onnx."),
    )


def _refuse_cut_short(model: onnx.ModelProto, path: Path) -> None:
    """Raise when a side file ends before a tensor that it should hold."""
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            told = {entry.key: entry.value for entry in tensor.external_data}
            needed = int(told.get("offset", 0)) + int(told.get("length", 0))
            size = (path.parent / told["location"]).stat().st_size
            if size < needed:
                raise ModelError(
                    f"'{told['location']}' beside '{path.name}' is cut short: it has {size} bytes "
                    f"where at least {needed} are needed; export or download both files again."
                )


def require_side_files(locations: Iterable[str], path: Path) -> None:
    """Raise when weights kept beside a model are missing, or would lie elsewhere.

    Parameters
    ----------
    locations : iterable of str
        Their names, relative to the folder of the model.
    path : Path
        The ``.onnx`` file.

    Raises
    ------
    ModelError
        Naming the first such file and where it was sought.
    """
    for location in locations:
        _refuse_escape(location, path)
        if not (path.parent / location).is_file():
            raise ModelError(
                f"'{path.name}' keeps weights in '{location}', which is missing in "
                f"'{path.parent}'; put that file beside the model."
            )


def _refuse_escape(location: str, path: Path) -> None:
    """Raise when a side file would lie outside the folder of the model."""
    pure = PurePosixPath(location)
    if pure.is_absolute() or PureWindowsPath(location).is_absolute() or ".." in pure.parts:
        raise ModelError(
            f"'{path.name}' wants to read weights from '{location}', outside its own folder; "
            "only files beside the model are allowed."
        )
