"""Write the tables of the README from what was measured and from the model cards.

``python scripts/figures.py`` writes them, ``--check`` only tells whether they are current.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def main(check: bool) -> int:
    """Write or check the README and return the exit code."""
    present = README.read_text(encoding="utf-8")
    current = with_tables(present)
    if check:
        print("README figures: current" if present == current else "README figures: out of date")
        return int(present != current)
    README.write_text(current, encoding="utf-8")
    return 0


def with_tables(text: str) -> str:
    """Return the text with every table made anew."""
    for name, table in (("figures", figures()), ("models", models())):
        block = f"(<!-- {name}: begin [^>]*-->\n).*?(<!-- {name}: end -->)"
        text = re.sub(block, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text, flags=re.S)
    return text


def figures() -> str:
    """Return the table of speed, memory and agreement."""
    overhead, startup = measured("overhead"), measured("startup")
    side = f"{overhead['image'][0]} × {overhead['image'][1]} px RGB"
    ours, loop = (overhead[f"labels that differ from one whole run, {x}"] for x in WAYS)
    memory = [overhead[f"peak MB, {x}"] for x in WAYS]
    rows = [
        (
            f"whole segmentation of {side} with `{overhead['model']}`, beside bare `session.run` "
            "on ready tiles",
            f"{overhead['ours / floor']:.2f} × its time",
        ),
        (
            "a plain loop (512 px tiles sharing 25 %, Gaussian window), beside ours",
            f"{overhead['plain loop / ours']:.1f} × our time",
        ),
        ("peak memory of both, above the imports", f"{memory[1]:.0f} MB, ours {memory[0]:.0f} MB"),
        (
            f"labels that differ from one run over the whole image, of "
            f"{overhead['labels compared']:,}",
            f"{loop:,}, ours {ours:,}",
        ),
        (
            "new process: import and first cut-out of a full-HD photograph",
            f"{startup['seconds']['all']:.1f} s, peak {startup['peak MB']:.0f} MB",
        ),
    ]
    machine = overhead["machine"]
    foot = (
        f"Medians of things run in turns on the CPU ({machine['cpu']}, 2 cores, ONNX Runtime "
        f"{machine['onnxruntime']}); see [benchmarks/](benchmarks/README.md)."
    )
    return "\n".join(["| measured | |", "|---|---|", *(row(r) for r in rows), "", foot])


WAYS = ("ours", "plain loop")


def models() -> str:
    """Return the table of the bundled models."""
    networks = sorted((ROOT / "models").glob("*.onnx"))
    rows = [model_row(path.with_suffix(".json")) for path in networks]
    head = [
        "| name | what for | size | licence | measured on test images |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])


def model_row(card: Path) -> str:
    """Return one bundled model."""
    facts = json.loads(card.read_text(encoding="utf-8"))
    size = f"{card.with_suffix('.onnx').stat().st_size / 1e6:.1f} MB"
    return row((f"`{facts['name']}`", facts["title"], size, facts["licence"], quality(facts)))


def quality(facts: dict[str, Any]) -> str:
    """Return the figures that matter, by task."""
    if facts["task"] == "matting":
        report = json.loads((ROOT / "models/reports/u2netp.json").read_text(encoding="utf-8"))
        difference = report["largest_difference_to_published"]
        return f"alpha within {difference:.0e} of the published network"
    found = json.loads((ROOT / f"models/reports/{facts['name']}.json").read_text(encoding="utf-8"))
    return land_cover(found) if "test_forest" in found else nuclei(found)


def nuclei(found: dict[str, Any]) -> str:
    """Return how well nuclei are found, beside Otsu's threshold."""
    return "; ".join(
        f"{kind}: IoU {ours['iou']:.2f} (Otsu {found['test_otsu'][kind]['iou']:.2f}), "
        f"AP50 {ours['ap50']:.2f} ({found['test_otsu'][kind]['ap50']:.2f})"
        for kind, ours in found["test"].items()
        if kind in ("fluorescence", "histology")
    )


def land_cover(found: dict[str, Any]) -> str:
    """Return how well classes are told apart, beside a forest that sees only colour."""
    ours, rival = found["test"]["all"], found["test_forest"]["all"]
    parts = (f"{name} {iou:.2f} ({rival['iou'][name]:.2f})" for name, iou in ours["iou"].items())
    mean = f"mean IoU {ours['mean_iou']:.2f} (forest on colour {rival['mean_iou']:.2f})"
    return f"{mean}: {', '.join(parts)}"


def measured(name: str) -> dict[str, Any]:
    """Return one result of the benchmarks."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def row(cells: tuple[str, ...]) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
