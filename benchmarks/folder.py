"""Memory and speed of a run over many small images, beside a plain loop.

Each number of images runs in a process of its own; memory is asked while it runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SIDE_PX = 64
ASKED = 8
"""How often memory is asked during a run."""


def resident_mb() -> float:
    """Return the resident memory of this process, in MB."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line
    )
    return round(int(line.split()[1]) / 1024, 1)


def draw(folder: Path, count: int) -> None:
    """Write images of noise, a thousand in a folder."""
    random = np.random.default_rng(20261201)
    for number in range(count):
        place = folder / f"{number // 1000:03}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 256, (SIDE_PX, SIDE_PX), dtype=np.uint8)
        np.save(place / f"{number:05}.npy", pixels)


def by_folder(folder: Path, model: Path, out: Path, every: int) -> list[float]:
    """Run the folder door and return memory now and then."""
    from napari_onnxseg import segment_folder

    memory = []
    outcomes = segment_folder(folder, out, model, summary=out / "summary.csv")
    for number, outcome in enumerate(outcomes, start=1):
        assert outcome.status == "done", outcome.error
        if number % every == 0:
            memory.append(resident_mb())
    return memory


def by_loop(folder: Path, model: Path, out: Path, every: int) -> list[float]:
    """Read, run and write one image after another."""
    from napari_onnxseg import segment_image
    from napari_onnxseg.arrays.files import read_image, write_labels

    memory = []
    out.mkdir()
    for number, path in enumerate(sorted(folder.rglob("*.npy")), start=1):
        result = segment_image(read_image(path).data, model)
        write_labels(out / path.name, result.labels, colours={}, names={}, scale=None)
        if number % every == 0:
            memory.append(resident_mb())
    return memory


WAYS: dict[str, Callable[[Path, Path, Path, int], list[float]]] = {
    "folder": by_folder,
    "loop": by_loop,
}


def child(way: str, folder: Path, model: Path, out: Path) -> None:
    """Run one way and print its figures."""
    count = sum(1 for _ in folder.rglob("*.npy"))
    begin = time.perf_counter()
    memory = WAYS[way](folder, model, out, max(1, count // ASKED))
    seconds = time.perf_counter() - begin
    print(json.dumps({"images_per_s": round(count / seconds, 1), "resident_mb": memory}))


def measured(way: str, folder: Path, model: Path, out: Path) -> dict[str, object]:
    """Run one way in a process of its own."""
    words = [sys.executable, __file__, "--way", way, str(folder), str(model), str(out)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Measure both ways for each number of images."""
    from measure import report

    import nets

    parser = argparse.ArgumentParser()
    parser.add_argument("counts", nargs="*", type=int, default=[1000, 5000, 20_000])
    figures: dict[str, object] = {}
    with TemporaryDirectory() as place:
        card = {"input": {"normalization": {"method": "unit"}}}
        model = nets.two_class(Path(place, "toy.onnx"), card=card)
        for count in parser.parse_args().counts:
            folder = Path(place, f"in-{count}")
            draw(folder, count)
            figures[str(count)] = {
                way: measured(way, folder, model, Path(place, f"{way}-{count}")) for way in WAYS
            }
    report("folder", {"side_px": SIDE_PX, "images": figures})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--way"]:
        child(sys.argv[2], *map(Path, sys.argv[3:6]))
    else:
        main()
