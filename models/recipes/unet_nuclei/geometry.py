"""How far the network looks, and the proof that tiles give the whole image's answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from .evaluate import MULTIPLE
from .net import NucleusUNet

Run = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def receptive_reach() -> tuple[int, int]:
    """Measure how many pixels an output pixel looks up and down.

    A network of the same shape with positive weights is given black images with
    one bright row, for each phase of the pooling grid. Every output row that is
    not zero has seen it.

    Returns
    -------
    tuple of int
        The largest distance to a row above and to a row below.
    """
    net = NucleusUNet().eval()
    with torch.no_grad():
        for tensor in net.parameters():
            tensor.fill_(0.01 if tensor.ndim == 1 else 1.0 / tensor[0].numel())
        for name, tensor in net.named_parameters():
            if name.endswith("bias"):
                tensor.zero_()
    net.double()
    side, middle = 32 * MULTIPLE, 16 * MULTIPLE
    above, below = 0, 0
    for phase in range(MULTIPLE):
        image = torch.zeros(1, 3, side, MULTIPLE, dtype=torch.float64)
        image[:, :, middle + phase] = 1e9
        with torch.inference_mode():
            rows = torch.nonzero(net(image)[0].sum(dim=(0, 2)) > 0)
        above = max(above, int(rows.max()) - middle - phase)
        below = max(below, middle + phase - int(rows.min()))
    return above, below


def aligned_halo(reach: int) -> int:
    """Return the smallest multiple of 16 that is not under the reach."""
    return -(-reach // MULTIPLE) * MULTIPLE


def run_in_tiles(run: Run, image: NDArray[np.float32], keep: int, halo: int) -> NDArray[np.float32]:
    """Run a network tile by tile and put the kept parts together.

    Parameters
    ----------
    run
        (1, 3, Y, X) to (1, 3, Y, X).
    image
        float32 (1, 3, Y, X), sides multiples of 16.
    keep, halo
        Side of the kept square and pixels around it, multiples of 16. At the
        edge of the image there is no halo.

    Returns
    -------
    numpy.ndarray
        float32 (1, 3, Y, X).
    """
    height, width = image.shape[2:]
    result = np.empty_like(image)
    for top in range(0, height, keep):
        for left in range(0, width, keep):
            rows = slice(max(0, top - halo), min(height, top + keep + halo))
            columns = slice(max(0, left - halo), min(width, left + keep + halo))
            scores = run(np.ascontiguousarray(image[:, :, rows, columns]))
            bottom, right = min(top + keep, height), min(left + keep, width)
            inner_rows = slice(top - rows.start, bottom - rows.start)
            inner_columns = slice(left - columns.start, right - columns.start)
            result[:, :, top:bottom, left:right] = scores[:, :, inner_rows, inner_columns]
    return result
