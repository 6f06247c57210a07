"""A whole segmentation beside bare session.run on ready tiles, and beside a plain loop.

The floor is given the tiles of the same plan, already normalised, and throws the scores away;
it may use one thread per tile on all cores or all cores in each tile, whichever is faster. The
plain loop is what most scripts do: tiles of 512 px that share 25 %, the same normalisation,
softmax, a Gaussian window, accumulators of the image's size, argmax at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import onnxruntime
from measure import in_turns, medians, peak_mb, report
from numpy.typing import NDArray
from pictures import mosaic

from napari_onnxseg.arrays.source import as_stack, read_padded
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.pipeline.feeding import feeder_for
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import SegmentPlan, plan_segment
from napari_onnxseg.pipeline.semantic import segment_image
from napari_onnxseg.runtime.doctor import physical_cores

MODEL = "unet-nuclei"
SAMPLE = "nuclei-stained.png"


def bare_session(path: str, threads: int) -> onnxruntime.InferenceSession:
    """Open a plain session."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def ready_tiles(picture: NDArray[np.uint8], plan: SegmentPlan) -> list[NDArray[np.float32]]:
    """Return every tile as network input."""
    stack = as_stack(picture, rgb=True)
    source = stack.plane(())
    feeder, _, _ = feeder_for([source], plan.channels, plan.normalization, "float32", None)
    tiles = []
    for tile in plan.tiles:
        out = np.empty((1, 3, *plan.tiles.tile), np.float32)
        feeder.fill(read_padded(source, tile.box), out[0])
        tiles.append(out)
    return tiles


def run_side_by_side(session: Any, tiles: list[Any], workers: int) -> None:
    """Run all tiles, several at once."""
    name = session.get_inputs()[0].name
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(lambda tile: session.run(None, {name: tile}) and None, tiles):
            pass


def plain_loop(session: Any, picture: NDArray[np.uint8], low: float, span: float) -> Any:
    """Tile with 25 % overlap, a Gaussian window and accumulators of the image's size."""
    tile, classes = 512, 3
    height, width = picture.shape[:2]
    step = tile * 3 // 4
    line = np.exp(-(((np.arange(tile) - (tile - 1) / 2) / (tile / 8)) ** 2) / 2)
    window = np.outer(line, line).astype(np.float32)
    total = np.zeros((classes, height, width), np.float32)
    weight = np.zeros((height, width), np.float32)
    name = session.get_inputs()[0].name
    for y in starts(height, tile, step):
        for x in starts(width, tile, step):
            part = (picture[y : y + tile, x : x + tile].astype(np.float32) - low) / span
            part = np.clip(part, 0, 1)
            logits = session.run(None, {name: part.transpose(2, 0, 1)[None]})[0][0]
            odds = np.exp(logits - logits.max(0, keepdims=True))
            total[:, y : y + tile, x : x + tile] += odds / odds.sum(0, keepdims=True) * window
            weight[y : y + tile, x : x + tile] += window
    return (total / np.maximum(weight, 1e-6)).argmax(0).astype(np.uint8)


def starts(length: int, tile: int, step: int) -> list[int]:
    """Return where plain tiles begin, the last one flush."""
    return sorted({*range(0, length - tile, step), length - tile})


def span_of(result: Any) -> tuple[float, float]:
    """Return the percentiles that our run measured."""
    joint = result.record["statistics"]["joint"]
    return joint["low"], joint["high"] - joint["low"]


def memory_of(side: int, what: str) -> float:
    """Return the peak memory of one way in a process of its own, above its imports, in MB."""
    command = [sys.executable, __file__, "--side", str(side), "--memory", what]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_memory(side: int, what: str) -> None:
    """Print the peak memory that one way adds to imports and picture."""
    card = load_card(MODEL)
    picture = mosaic(SAMPLE, side, side)
    before = peak_mb()
    if what == "ours":
        segment_image(picture, MODEL, rgb=True, device="cpu")
    else:
        plain_loop(bare_session(str(card.path), physical_cores()), picture, 0.0, 255.0)
    print(round(peak_mb() - before, 1))


def main(side: int, rounds: int) -> None:
    """Measure and report."""
    card = load_card(MODEL)
    picture = mosaic(SAMPLE, side, side)
    cores = physical_cores()
    plan = plan_segment(as_stack(picture, rgb=True), card, SegmentJob(MODEL, rgb=True))
    tiles = ready_tiles(picture, plan)
    each, all_cores = bare_session(str(card.path), 1), bare_session(str(card.path), cores)
    ours = partial(segment_image, picture, MODEL, rgb=True, device="cpu")
    result = ours()
    loop = partial(plain_loop, all_cores, picture, *span_of(result))
    timed = in_turns(
        {
            "floor, a thread per tile": partial(run_side_by_side, each, tiles, cores),
            "floor, all cores per tile": partial(run_side_by_side, all_cores, tiles, 1),
            "ours": ours,
            "plain loop": loop,
        },
        rounds,
    )
    middle, work = medians(timed.wall), medians(timed.cpu)
    floor = min((k for k in middle if k.startswith("floor")), key=middle.__getitem__)
    report(
        "overhead",
        {
            "image": [side, side, 3],
            "model": MODEL,
            "plan": plan.words(),
            "seconds": timed.wall,
            "CPU seconds": timed.cpu,
            "ours / floor": round(middle["ours"] / middle[floor], 3),
            "ours / floor, CPU seconds": round(work["ours"] / work[floor], 3),
            "plain loop / ours": round(middle["plain loop"] / middle["ours"], 3),
            "peak MB, ours": memory_of(side, "ours"),
            "peak MB, plain loop": memory_of(side, "plain loop"),
            **agreement(card, all_cores),
        },
    )


def agreement(card: Any, session: Any) -> dict[str, Any]:
    """Compare both ways with one run over the whole image, at a size where that is possible."""
    side = 1536
    picture = mosaic(SAMPLE, side, side)
    tiled = segment_image(picture, MODEL, rgb=True, device="cpu", tile=512)
    low, span = span_of(tiled)
    offset, gain = np.float32(low), np.float32(1 / span)
    whole_input = np.clip((picture.astype(np.float32) - offset) * gain, 0, 1)
    whole_input = whole_input.transpose(2, 0, 1)[None]
    name = session.get_inputs()[0].name
    whole = session.run(None, {name: np.ascontiguousarray(whole_input)})[0][0].argmax(0)
    loop = plain_loop(session, picture, low, span)
    return {
        "labels that differ from one whole run, ours": int((tiled.labels != whole).sum()),
        "labels that differ from one whole run, plain loop": int((loop != whole).sum()),
        "labels compared": whole.size,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", choices=["ours", "plain loop"])
    given = parser.parse_args()
    if given.memory:
        measure_memory(given.side, given.memory)
    else:
        main(given.side, given.rounds)
