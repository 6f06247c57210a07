"""Every format beside the tool it comes from: what opens, what the card says, what comes out.

Each tool is run in an environment of its own, named by its interpreter; what is not named is
not run, and its rows of the last time are kept. Results are written to
``benchmarks/results/formats.json``, and from there to ``docs/formats.md`` by ``table.py``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
sys.path.append(str(ROOT / "tests"))

import faults  # noqa: E402
import with_bioimageio  # noqa: E402
import with_czann  # noqa: E402
import with_deepness  # noqa: E402
import with_formulas  # noqa: E402
import with_rembg  # noqa: E402
import with_transformers  # noqa: E402
from measure import RESULTS, machine  # noqa: E402

PHOTOGRAPH = ROOT / "models" / "samples" / "photograph.jpg"
Parts = dict[str, Callable[[Path], list[Any]]]


def parts(asked: argparse.Namespace) -> Parts:
    """Return what can be compared with the tools that were named."""
    found: Parts = {
        "Deepness": with_deepness.rows,
        "formulas": with_formulas.rows,
        "bad exports": faults.verdicts,
    }
    if asked.rembg:
        pictures = [PHOTOGRAPH, *_photographs(asked.data)]
        found["rembg"] = lambda f: with_rembg.published(asked.rembg, asked.u2netp, pictures, f)
        found["rembg names"] = lambda f: with_rembg.names(asked.rembg, f)
    if asked.czann:
        found["ZEISS published"] = lambda f: with_czann.real(asked.czann, f)
        found["ZEISS packed"] = lambda f: with_czann.packed(asked.czann, f)
        found["ZEISS regression"] = lambda f: with_czann.regression(asked.czann, f)
    if asked.transformers:
        found["transformers"] = lambda f: with_transformers.rows(asked.transformers, f)
    if asked.bioimageio:
        found["bioimage.io"] = lambda f: with_bioimageio.rows(asked.bioimageio, f)
    return {name: part for name, part in found.items() if not asked.only or name in asked.only}


def _photographs(data: Path | None) -> list[Path]:
    """Return two further photographs, where a folder of them is named."""
    return sorted((data / "saliency").rglob("*.jpg"))[:2] if data else []


def main() -> None:
    """Compare and keep the results."""
    asked = _asked()
    path = RESULTS / "formats.json"
    kept = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name, part in parts(asked).items():
            made = part(Path(folder) / name.replace(" ", "-"))
            rows = [row if isinstance(row, dict) else row.to_json() for row in made]
            kept["parts"][name] = json.loads(json.dumps(rows, default=str).replace(folder, "…"))
            print(name, json.dumps(kept["parts"][name], indent=1, ensure_ascii=False), flush=True)
    text = json.dumps({"machine": machine(), "parts": kept["parts"]}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _asked() -> argparse.Namespace:
    """Read the command line."""
    words = argparse.ArgumentParser(description=__doc__)
    for tool in ("rembg", "czann", "bioimageio", "transformers"):
        words.add_argument(f"--{tool}", type=Path, help=f"interpreter that has {tool}")
    words.add_argument(
        "--u2netp",
        type=Path,
        default=ROOT / "models" / "u2netp.onnx",
        help="the network as rembg publishes it; the bundled one without",
    )
    words.add_argument("--data", type=Path, help="folder with saliency/**/*.jpg")
    words.add_argument("--only", nargs="*", help="names of parts")
    return words.parse_args()


if __name__ == "__main__":
    main()
