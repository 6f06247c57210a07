"""The bundled models on a GPU: the same labels as on the CPU, and how far above the floor.

Needs a CUDA device and onnxruntime-gpu with its CUDA and cuDNN libraries; stops with one
sentence where they are missing.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import onnxruntime
from measure import in_turns, medians, report
from overhead import MODEL, SAMPLE, ready_tiles, run_side_by_side
from pictures import mosaic

from napari_onnxseg import matte_image, segment_image
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import plan_segment


def main(side: int, rounds: int) -> None:
    """Measure and report."""
    picture = mosaic(SAMPLE, side, side)
    photograph = mosaic("photograph.jpg", 1080, 1920)
    card = load_card(MODEL)
    small = picture[:2048, :2048]
    on_cpu = segment_image(small, MODEL, rgb=True, device="cpu")
    on_gpu = segment_image(small, MODEL, rgb=True, device="cuda")
    alpha_cpu = matte_image(photograph, rgb=True, device="cpu").rgba[..., 3].astype(int)
    alpha_gpu = matte_image(photograph, rgb=True, device="cuda").rgba[..., 3].astype(int)
    plan = plan_segment(as_stack(picture, rgb=True), card, SegmentJob(MODEL, rgb=True))
    options = {"cudnn_conv_algo_search": "HEURISTIC"}
    bare = onnxruntime.InferenceSession(
        str(card.path), providers=[("CUDAExecutionProvider", options)]
    )
    tiles = ready_tiles(picture, plan)
    timed = in_turns(
        {
            "floor": partial(run_side_by_side, bare, tiles, 2),
            "ours": partial(segment_image, picture, MODEL, rgb=True, device="cuda"),
            "cut-out": partial(matte_image, photograph, rgb=True, device="cuda"),
        },
        rounds,
    )
    middle = medians(timed.wall)
    report(
        "gpu",
        {
            "device": on_gpu.device,
            "notes": list(on_gpu.notes),
            "plan": plan.words(),
            "seconds": timed.wall,
            "ours / floor": round(middle["ours"] / middle["floor"], 3),
            "labels that differ from the CPU, per million": float(
                np.mean(on_cpu.labels != on_gpu.labels) * 1e6
            ),
            "largest difference of alpha, of 255": int(abs(alpha_cpu - alpha_gpu).max()),
        },
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    main(given.side, given.rounds)
