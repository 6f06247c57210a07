"""How far a network looks, whether tiles give the whole image's answer, and how fast.

Shared by the recipes.
"""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from numpy.typing import NDArray
from torch import nn

TIMED_SIDE = 512
ROUNDS = 20
Run = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def open_session(path: Path) -> ort.InferenceSession:
    """Return a session on one thread of the CPU."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def pad_to_multiple(image: NDArray[np.float32], multiple: int) -> NDArray[np.float32]:
    """Reflect (Y, X, 3) at the far edges up to a multiple of so many pixels."""
    height, width = image.shape[:2]
    padding = ((0, -height % multiple), (0, -width % multiple), (0, 0))
    return np.pad(image, padding, mode="reflect")


def model_input(image: NDArray[np.float32], multiple: int) -> NDArray[np.float32]:
    """Return a normalised image (Y, X, 3) as the network takes it, (1, 3, Y, X)."""
    return np.ascontiguousarray(pad_to_multiple(image, multiple).transpose(2, 0, 1)[None])


def reach_and_halo(net: nn.Module, multiple: int) -> tuple[int, int]:
    """Measure how many pixels an output pixel looks away, and the halo tiles need.

    A copy with positive weights is given black images with one bright row, for each
    phase of the pooling grid. Every output row that is not zero has seen it. As kept
    parts start and end on the grid, the halo can be a little below the reach.

    Parameters
    ----------
    net
        From (N, 3, Y, X) to (N, K, Y, X).
    multiple
        The total stride in pixels.

    Returns
    -------
    tuple of int
        The largest distance to a row above or below; the smallest multiple that
        holds all rows that a kept part looks at.
    """
    net = _positive(net)
    middle = 16 * multiple
    reach, halo = 0, 0
    for row in range(middle, middle + multiple):
        image = torch.zeros(1, 3, 2 * middle, multiple, dtype=torch.float64)
        image[:, :, row] = 1e9
        with torch.inference_mode():
            seen = torch.nonzero(net(image)[0].sum(dim=(0, 2)) > 0)
        first, last = int(seen.min()), int(seen.max())
        reach = max(reach, last - row, row - first)
        start, stop = last // multiple * multiple, -(-(first + 1) // multiple) * multiple
        halo = max(halo, start - row, row + 1 - stop)
    return reach, -(-halo // multiple) * multiple


@torch.no_grad()
def _positive(net: nn.Module) -> nn.Module:
    """Return a copy in double precision without biases, whose weights are positive."""
    net = copy.deepcopy(net).eval()
    for name, tensor in net.named_parameters():
        tensor.fill_(0.01 if tensor.ndim == 1 else 1.0 / tensor[0].numel())
        if name.endswith("bias"):
            tensor.zero_()
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.reset_running_stats()
    return net.double()


def run_in_tiles(run: Run, image: NDArray[np.float32], keep: int, halo: int) -> NDArray[np.float32]:
    """Run a network tile by tile and put the kept parts together.

    Parameters
    ----------
    run
        (1, 3, Y, X) to (1, K, Y, X).
    image
        float32 (1, 3, Y, X), sides multiples of the total stride.
    keep, halo
        Side of the kept square and pixels around it, multiples of the total stride.
        At the edge of the image there is no halo.

    Returns
    -------
    numpy.ndarray
        float32 (1, K, Y, X).
    """
    height, width = image.shape[2:]
    result: NDArray[np.float32] | None = None
    for top in range(0, height, keep):
        for left in range(0, width, keep):
            rows = slice(max(0, top - halo), min(height, top + keep + halo))
            columns = slice(max(0, left - halo), min(width, left + keep + halo))
            scores = run(np.ascontiguousarray(image[:, :, rows, columns]))
            if result is None:
                result = np.empty((1, scores.shape[1], height, width), np.float32)
            bottom, right = min(top + keep, height), min(left + keep, width)
            inner_rows = slice(top - rows.start, bottom - rows.start)
            inner_columns = slice(left - columns.start, right - columns.start)
            result[:, :, top:bottom, left:right] = scores[:, :, inner_rows, inner_columns]
    return result


def tiling_difference(
    session: ort.InferenceSession, image: NDArray[np.float32], halo: int
) -> float:
    """Return the largest difference of logits between tiles and the whole image."""

    def run(tile: NDArray[np.float32]) -> NDArray[np.float32]:
        return session.run(None, {"image": tile})[0]

    return float(np.abs(run_in_tiles(run, image, keep=192, halo=halo) - run(image)).max())


def milliseconds_per_tile(session: ort.InferenceSession) -> float:
    """Return the median time of one 512 x 512 tile."""
    tile = np.random.default_rng(3).random((1, 3, TIMED_SIDE, TIMED_SIDE), np.float32)
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        session.run(None, {"image": tile})
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


def geometry(
    net: nn.Module, session: ort.InferenceSession, image: NDArray[np.float32], multiple: int
) -> dict[str, Any]:
    """Return reach, stride, halo, and how equal tiles and a whole image are.

    Parameters
    ----------
    net
        The network, with any weights.
    session
        The exported file.
    image
        float32 (1, 3, Y, X), sides multiples of ``multiple``.
    multiple
        The total stride in pixels.

    Returns
    -------
    dict
        Ready for JSON.
    """
    reach, halo = reach_and_halo(net, multiple)
    return {
        "receptive_radius_px": reach,
        "total_stride_px": multiple,
        "halo_px": halo,
        "tiles_to_whole_largest_difference": tiling_difference(session, image, halo),
        "with_half_the_halo": tiling_difference(session, image, halo // (2 * multiple) * multiple),
    }
