"""Background removal and ZEISS packages: seconds of the other tool and of us, in turns.

Both run in new processes that take turns, each with the same number of threads, on the same
picture; loading is left out on both sides. Run it on a machine that does nothing else:
``python benchmarks/others/speed.py --rembg PYTHON --czann PYTHON``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np
from asking import ask
from measure import report
from pictures import mosaic
from PIL import Image
from tiles import result
from with_czann import czann_example

from napari_onnxseg.cards.catalog import bundled_folder
from napari_onnxseg.pipeline.matting import matte_image

ROUNDS, EACH = 5, 3
SIDE = 2048


def main() -> None:
    """Measure what was named, and report."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--rembg", type=Path)
    words.add_argument("--czann", type=Path)
    asked = words.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        if asked.rembg:
            figures["rembg"] = _turns(*_cut_outs(asked.rembg, Path(folder) / "rembg"))
        if asked.czann:
            figures["czann"] = _turns(*_labels(asked.czann, Path(folder) / "czann"))
    report("others", figures)


def _turns(theirs: Callable[[], list[float]], ours: Callable[[], list[float]]) -> dict[str, Any]:
    """Return medians of both, and how often ours goes into theirs."""
    found: dict[str, list[float]] = {"theirs": [], "ours": []}
    for turn in range(ROUNDS):
        order = [("theirs", theirs), ("ours", ours)]
        for name, run in order if turn % 2 == 0 else order[::-1]:
            found[name] += run()
    middle = {name: round(statistics.median(values), 4) for name, values in found.items()}
    return {**middle, "theirs / ours": round(middle["theirs"] / middle["ours"], 3), "all": found}


def _cut_outs(
    python: Path, folder: Path
) -> tuple[Callable[[], list[float]], Callable[[], list[float]]]:
    """Return runs of rembg and of us on a photograph, with one thread."""
    model = bundled_folder() / "u2netp.onnx"
    picture = np.asarray(Image.open(bundled_folder() / "samples" / "photograph.jpg").convert("RGB"))
    request = {
        "session": "u2netp",
        "home": model.parent,
        "picture": picture,
        "threads": 1,
        "rounds": EACH,
    }

    def theirs() -> list[float]:
        seconds: list[float] = ask(python, "rembg_side", folder, request)[0]["seconds"]
        return seconds

    return theirs, lambda: _timed(
        lambda: matte_image(picture, model, rgb=True, device="cpu", workers=1), EACH
    )


def _labels(
    python: Path, folder: Path
) -> tuple[Callable[[], list[float]], Callable[[], list[float]]]:
    """Return runs of the ZEISS plugin and of us on a large picture, with all cores."""
    folder.mkdir(parents=True)
    example = czann_example(python, folder)
    picture = mosaic("nuclei-stained.png", SIDE, SIDE)
    request = {
        "do": "predict",
        "package": example.package,
        "picture": picture,
        "choices": dict(example.choices),
    }

    def theirs() -> list[float]:
        return [ask(python, "czann_side", folder / "exchange", request)[0]["seconds"]]

    return theirs, lambda: _timed(lambda: result(example.package, picture), 1)


def _timed(run: Callable[[], Any], rounds: int) -> list[float]:
    """Return the seconds of each run, after one that loads what is loaded once."""
    run()
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        seconds.append(round(time.perf_counter() - begin, 4))
    return seconds


if __name__ == "__main__":
    main()
