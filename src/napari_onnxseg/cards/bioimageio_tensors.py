"""Test tensors of a bioimage.io package, and how far a result may differ from them."""

from __future__ import annotations

import numpy as np

from napari_onnxseg.cards.bioimageio_meaning import axis_letters
from napari_onnxseg.cards.bioimageio_rdf import Rdf, Tensor, Tolerance
from napari_onnxseg.cards.bioimageio_sources import local_file
from napari_onnxseg.errors import ModelError
from napari_onnxseg.types import AnyArray

MOST_BYTES = 4 << 30
"""Size of a tensor that is read."""

EXACT = Tolerance(relative=0, absolute=0, per_million=1000)
"""For outputs of whole numbers, unless the description says otherwise."""

_ORDER = "NCDHW"


def read_tensor(rdf: Rdf, tensor: Tensor) -> AnyArray:
    """Read the test tensor of an input or output.

    Parameters
    ----------
    rdf : Rdf
        The model.
    tensor : Tensor
        Which one; it names a file.

    Returns
    -------
    numpy.ndarray
        (N, C, Y, X) or (N, C, Z, Y, X), of the dtype of the file.

    Raises
    ------
    ModelError
        When the file is missing, damaged, not the one that is meant, or of other axes.
    """
    if tensor.test is None:
        raise ModelError(f"The model '{rdf.name}' comes without a test tensor for '{tensor.name}'.")
    path = local_file(tensor.test, rdf.path.parent, "test tensors")
    if path.stat().st_size > MOST_BYTES:
        raise ModelError(f"The test tensor '{path}' is larger than {MOST_BYTES >> 30} GB.")
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError, MemoryError, OverflowError) as fault:
        raise ModelError(f"The test tensor '{path}' cannot be read ({fault}).") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or not array.size:
        raise ModelError(f"The test tensor '{path}' is no array of numbers (.npy).")
    return _ordered(array, tensor, path.name)


def tolerance_for(rdf: Rdf, tensor: Tensor) -> Tolerance:
    """Return how far a result may differ from the test tensor of an output.

    Parameters
    ----------
    rdf : Rdf
        The model.
    tensor : Tensor
        The output.

    Returns
    -------
    Tolerance
        The first of the description that fits, else that of the specification.
    """
    stated = (t for t in rdf.tolerances if not t.outputs or tensor.name in t.outputs)
    whole = tensor.dtype.startswith(("int", "uint", "bool"))
    return next(stated, EXACT if whole else Tolerance())


def _ordered(array: AnyArray, tensor: Tensor, name: str) -> AnyArray:
    """Bring axes to their order, and add those of length 1 that are not there."""
    letters = axis_letters(tensor)
    if array.ndim != len(letters) or "?" in letters:
        axes = ", ".join(axis.name for axis in tensor.axes)
        raise ModelError(
            f"The test tensor '{name}' has the shape {array.shape}, and the description gives "
            f"'{tensor.name}' the axes {axes}."
        )
    order = [letters.index(letter) for letter in _ORDER if letter in letters]
    moved = array.transpose(order)
    for place, letter in enumerate("NC"):
        if letter not in letters:
            moved = np.expand_dims(moved, place)
    return moved
