"""Write the tables of ``docs/formats.md`` from what was measured.

``python benchmarks/others/table.py`` writes them, ``--check`` only tells whether they are
current.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "formats.md"
MEASURED = ROOT / "benchmarks" / "results" / "formats.json"
FAULTS = "bad exports"
REFUSED = ("Ultralytics metadata",)
"""Formats that are told apart to be refused in words."""

OWN = "in one piece"
"""Marks what tells which of both results is that of the whole picture."""

Measured = dict[str, Any]


def main(check: bool) -> int:
    """Write or check the page and return the exit code."""
    present = PAGE.read_text(encoding="utf-8")
    current = with_tables(present)
    if check:
        print("tables of formats: " + ("current" if present == current else "out of date"))
        return int(present != current)
    PAGE.write_text(current, encoding="utf-8")
    return 0


def with_tables(text: str) -> str:
    """Return the text with every table made anew."""
    parts = json.loads(MEASURED.read_text(encoding="utf-8"))["parts"]
    rows = sorted(
        (row for name, found in parts.items() if name != FAULTS for row in found),
        key=lambda row: row["format"],
    )
    blocks = {
        "formats": formats(rows),
        "reasons": reasons(rows),
        "exports": exports(parts.get(FAULTS, [])),
    }
    for name, table in blocks.items():
        block = f"(<!-- {name}: begin [^>]*-->\n).*?(<!-- {name}: end -->)"
        text = re.sub(block, lambda m, t=table: f"{m[1]}\n{t}\n\n{m[2]}", text, flags=re.S)
    return text


def formats(rows: list[Measured]) -> str:
    """Return one line for each example."""
    head = [
        "| | format | example | opens | card right | beside | result as both come | the rest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(_format(number, row) for number, row in enumerate(rows, start=1))])


def _format(number: int, row: Measured) -> str:
    gaps = row["gaps"]
    left = [gap for gap in gaps[1:] if not gap.get("unit") and OWN not in gap["what"]]
    nearest = min(left, key=lambda gap: gap["mean"], default=None)
    return line(
        str(number),
        row["format"],
        f"{row['example']}; on {row['image']}",
        opens(row),
        f"{row['facts'] - len(row['wrong'])} of {row['facts']}" if row["facts"] else "",
        row["tool"],
        differs(gaps[0], row["unit"]) if gaps else "",
        f"{nearest['what']}: {differs(nearest, row['unit'])}" if nearest else "",
    )


def opens(row: Measured) -> str:
    """Tell whether a file opens, or is refused as it should be."""
    if row["opens"]:
        return "yes"
    return "refused in words, as meant" if row["format"] in REFUSED else "**no**"


def differs(gap: Measured, unit: str) -> str:
    """Return a difference in the words of its unit, or in that of the row."""
    unit = gap.get("unit") or unit
    if unit == "labels":
        return f"{gap['differing']:,} of {gap['compared']:,} labels differ"
    if unit.startswith("alpha"):
        return f"alpha differs by {gap['mean']:.2g} of 255 on average, {gap['largest']:g} at most"
    few = f"{gap['differing']:,} of {gap['compared']:,} " if _few(gap) else ""
    return f"{few}values differ by {gap['largest']:.2g} at most"


def _few(gap: Measured) -> bool:
    """Tell whether so few values differ that their number says more than the difference."""
    return bool(0 < gap["differing"] < gap["compared"] / 100)


def reasons(rows: list[Measured]) -> str:
    """Return, for each example where results differ, what is left as habits are taken away."""
    told = []
    for number, row in enumerate(rows, start=1):
        steps = [f"  - {gap['what']}: {differs(gap, row['unit'])}" for gap in row["gaps"][1:]]
        if row["words"] or steps:
            told.append(f"- **{number}, {row['format']}**: {row['words'] or 'step by step:'}")
            told += steps
    return "\n".join(told)


def exports(found: list[Measured]) -> str:
    """Return one line for each network exported badly on purpose."""
    head = [
        "| export | finding | severity | mended | copy beside the bad export "
        "| copy beside a good export |",
        "|---|---|---|---|---|---|",
    ]
    rows = [
        line(
            one["fault"],
            f"`{one['code']}`: {one['title']}",
            one["severity"],
            one["words"] if one["mended"] else f"no: {one['words']}",
            one["beside"],
            "" if one["to_good"] is None else f"scores within {one['to_good']:.2g}",
        )
        for one in found
    ]
    return "\n".join([*head, *rows])


def line(*cells: str) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
