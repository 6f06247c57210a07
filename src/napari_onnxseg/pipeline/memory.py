"""How much memory a run takes, estimated before it begins."""

from __future__ import annotations

from math import prod

from napari_onnxseg.arrays.source import ImageStack
from napari_onnxseg.cards.card import Head, ModelCard
from napari_onnxseg.decode.labels import label_dtype
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.prepare.steps import needs_statistics
from napari_onnxseg.tiling.plan import TilePlan


def result_bytes(stack: ImageStack, heads: tuple[Head, ...], job: SegmentJob, planes: int) -> int:
    """Return what the results take of the memory; nothing where they go to a store.

    Parameters
    ----------
    stack : ImageStack
        The image.
    heads : tuple of Head
        The outputs that are wanted.
    job : SegmentJob
        The choices.
    planes : int
        How many planes there are.

    Returns
    -------
    int
        Bytes.
    """
    if job.store is not None:
        return 0
    pixels = prod(stack.shape) if job.region is None else job.region.size
    return planes * pixels * sum(_bytes_per_px(head, job) for head in heads)


def network_bytes(tiled: ModelCard, heads: tuple[Head, ...], tiles: TilePlan, at_once: int) -> int:
    """Estimate the network's working memory, with the band of numbers that is being added up.

    Parameters
    ----------
    tiled : ModelCard
        The model as tiles see it.
    heads : tuple of Head
        The outputs that are wanted.
    tiles : TilePlan
        Geometry of one plane.
    at_once : int
        Tiles at once.

    Returns
    -------
    int
        Bytes.
    """
    network = at_once * prod(tiles.tile) * max(tiled.geometry.bytes_per_px, 1.0)
    if tiles.blends:
        planes = sum(head.output.planes or 1 for head in heads)
        network += 4 * planes * prod((tiles.tile[0], *tiles.padded[1:]))
    return int(network)


def _bytes_per_px(head: Head, job: SegmentJob) -> int:
    """Return how many bytes of results one pixel has."""
    values = 4 * (head.output.planes or 1)
    if head.task == "image":
        return values
    aside = values if needs_statistics(head.after) else 0
    objects = 6 * (job.objects and head.objects is not None)
    return aside + label_dtype(len(head.classes) or 2).itemsize + job.confidence + objects
