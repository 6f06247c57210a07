"""Bring the weights of side files in, and write a model whole or with one side file."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, prod
from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper

from napari_onnxseg.arrays.atomic import atomic
from napari_onnxseg.errors import ChoiceError, ModelError, OnnxSegError
from napari_onnxseg.graph.load import require_side_files, side_files

LIMIT_BYTES = (2 << 30) - (1 << 20)
"""Largest file without side files; the format cannot hold more."""

SMALLEST_BYTES = 1024
"""Tensors below this stay in the file."""

PAGE_BYTES = 4096
"""Tensors start on multiples of it, so that they can be mapped into memory."""


def load_weights(model: onnx.ModelProto, path: Path) -> None:
    """Read the weights that lie in side files into the model.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, changed.
    path : Path
        Its file.

    Raises
    ------
    ModelError
        When a side file is missing, lies elsewhere, or is too short.
    """
    require_side_files(side_files(model), path)
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            _load(tensor, path)


def write_model(model: onnx.ModelProto, out: Path, outside: bool) -> None:
    """Write a model; nothing appears under its name before it is complete.

    Parameters
    ----------
    model : onnx.ModelProto
        The model with its weights loaded; they are moved out of it when ``outside``.
    out : Path
        The file.
    outside : bool
        Whether weights go into a side file, ``<name>.data``.

    Raises
    ------
    ChoiceError
        When the model is too large for one file.
    FileFormatError
        When a file cannot be written.
    """
    if outside:
        with atomic(side_file(out)) as file:
            for chunk in _moved_out(model, side_file(out).name):
                file.write(chunk)
    try:
        _write_graph(model, out)
    except OnnxSegError:
        if outside:
            side_file(out).unlink(missing_ok=True)
        raise


def _write_graph(model: onnx.ModelProto, out: Path) -> None:
    size = model.ByteSize()
    if size > LIMIT_BYTES:
        raise ChoiceError(
            f"The model takes {size / 1e9:.1f} GB, but one ONNX file holds 2 GB at most; keep its "
            "weights in a side file."
        )
    with atomic(out) as file:
        file.write(model.SerializeToString())


def side_file(out: Path) -> Path:
    """Return where the weights of a file go."""
    return out.with_name(out.name + ".data")


def _load(tensor: onnx.TensorProto, path: Path) -> None:
    """Read one tensor."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    itemsize = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    expected = int(entries.get("length") or prod(tensor.dims) * itemsize)
    with (path.parent / entries["location"]).open("rb") as file:
        file.seek(int(entries.get("offset") or 0))
        data = file.read(expected)
    if len(data) < expected:
        raise ModelError(
            f"'{entries['location']}' holds {len(data)} bytes for '{tensor.name}', which needs "
            f"{expected}; copy the file again."
        )
    tensor.raw_data = data
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _moved_out(model: onnx.ModelProto, location: str) -> Iterator[bytes]:
    """Yield the bytes of a side file, and let the tensors point into it."""
    position = 0
    for tensor in model.graph.initializer:
        data = _raw(tensor)
        if len(data) < SMALLEST_BYTES:
            continue
        start = ceil(position / PAGE_BYTES) * PAGE_BYTES
        yield bytes(start - position)
        yield data
        position = start + len(data)
        _point(tensor, location, start, len(data))


def _raw(tensor: onnx.TensorProto) -> bytes:
    """Return the bytes of a tensor; none for text, which stays where it is."""
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    if tensor.data_type == TensorProto.STRING:
        return b""
    return bytes(numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data)


def _point(tensor: onnx.TensorProto, location: str, start: int, length: int) -> None:
    """Let a tensor refer to a side file."""
    kept = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    tensor.CopyFrom(kept)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", start), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
