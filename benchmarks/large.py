"""Images of any size into a store: memory, time a megapixel, planning.

    python benchmarks/large.py [--sides 8192 20480 40960] [--model unet-aerial]

Each image is a zarr array on disk (RGB, uint8, chunks of 512 px), each run a process of its
own: its peak resident memory is counted above what it held after the imports. Without
``--model`` the network is two small convolutions, so that reading, normalising and writing
weigh as much as they can.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RUN = """
import json, resource, sys, time
from pathlib import Path
import zarr
import napari_onnxseg.pipeline.log
from napari_onnxseg import Normalization, segment_image
from napari_onnxseg.cards.read import load_card

image, model, store = zarr.open_array(sys.argv[1], mode="r"), sys.argv[2], sys.argv[3]
load_card(model)

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

before, begin = peak_mb(), time.perf_counter()
stretched = Normalization("percentile", low=1, high=99, clip=True)
result = segment_image(image, model, rgb=True, store=store, normalization=stretched)
print(json.dumps({"seconds": time.perf_counter() - begin, "peak_mb": peak_mb() - before,
                  "plan": result.record["plan"], "stages": dict(result.seconds)}))
"""

PLAN = """
import json, time
import numpy as np
import sys
from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.pipeline.job import SegmentJob
from napari_onnxseg.pipeline.plan import plan_segment

card = load_card(sys.argv[1])
stack = as_stack(np.broadcast_to(np.uint8(0), (200_000, 200_000, 3)), rgb=True)
begin = time.perf_counter()
plan = plan_segment(stack, card, SegmentJob(sys.argv[1]))
print(json.dumps({"seconds": time.perf_counter() - begin, "tiles": len(plan.tiles)}))
"""


def toy(path: Path) -> Path:
    """Write two small convolutions, three channels to three classes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    weights = [rng.normal(size=s).astype(np.float32) for s in ((4, 3, 3, 3), (3, 4, 1, 1))]
    names = ["first", "second"]
    nodes = [
        helper.make_node("Conv", ["image", "first"], ["seen"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["seen"], ["kept"]),
        helper.make_node("Conv", ["kept", "second"], ["scores"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "toy",
        [value("image", TensorProto.FLOAT, ["n", 3, "y", "x"])],
        [value("scores", TensorProto.FLOAT, ["n", 3, "y", "x"])],
        [numpy_helper.from_array(w, n) for w, n in zip(weights, names, strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


def picture(path: Path, side: int) -> Path:
    """Write an image of blurred noise, a megapixel of which repeats."""
    import zarr
    from scipy import ndimage

    rng = np.random.default_rng(1)
    noise = ndimage.gaussian_filter(rng.normal(size=(1024, 1024, 3)), (6, 6, 0))
    tile = np.clip(noise * 900 + 128, 0, 255).astype(np.uint8)
    array = zarr.create_array(
        str(path), shape=(side, side, 3), chunks=(512, 512, 3), dtype=np.uint8
    )
    for row in range(0, side, 1024):
        for column in range(0, side, 1024):
            rows, columns = min(1024, side - row), min(1024, side - column)
            array[row : row + rows, column : column + columns] = tile[:rows, :columns]
    return path


def told(code: str, *arguments: str) -> dict[str, object]:
    """Run code in a process of its own and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sides", type=int, nargs="+", default=[8192, 20480, 40960])
    parser.add_argument("--model", default="")
    parser.add_argument("--folder", default=None, help="where images and results go")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        model = asked.model or str(toy(folder / "toy.onnx"))
        found = {"planning 200,000 x 200,000 px": told(PLAN, model)}
        for side in asked.sides:
            image = picture(folder / f"{side}.zarr", side)
            run = told(RUN, str(image), model, str(folder / f"{side}-out.zarr"))
            run["seconds a megapixel"] = run["seconds"] / (side * side / 1e6)  # type: ignore[operator]
            found[f"{side} px"] = run
            print(json.dumps({side: run}, indent=2), file=sys.stderr)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
