"""From nothing to the first cut-out of a full-HD photograph, in a new process each time."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from measure import report

FIRST = """
import time
begin = time.perf_counter()
import numpy as np
import napari_onnxseg as seg
picture = np.load({path!r})
imported = time.perf_counter()
seg.matte_image
named = time.perf_counter()
result = seg.matte_image(picture, rgb=True, device="cpu")
first = time.perf_counter()
seg.matte_image(picture, rgb=True, device="cpu")
second = time.perf_counter()
import json
from pathlib import Path
peak = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
print(json.dumps({{
    "import": imported - begin, "first": first - named, "all": first - begin,
    "second": second - first, "peak_mb": int(peak.split()[1]) / 1024, "load": named - imported,
}}))
"""


def main(rounds: int = 7) -> None:
    """Measure and report."""
    import tempfile
    from pathlib import Path

    import numpy as np
    from pictures import mosaic

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.npy"
        np.save(path, mosaic("photograph.jpg", 1080, 1920))
        runs = [_run(str(path)) for _ in range(rounds)]
    middle = {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]}
    peak = middle.pop("peak_mb")
    report(
        "startup",
        {"image": [1080, 1920, 3], "model": "u2netp", "seconds": middle, "peak MB": peak},
    )


def _run(path: str) -> dict[str, float]:
    """Run one new process."""
    command = [sys.executable, "-c", FIRST.format(path=path)]
    found: dict[str, float] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return found


if __name__ == "__main__":
    main()
