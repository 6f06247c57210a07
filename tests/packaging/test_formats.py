"""The page on formats says what was measured, and what was measured is good."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "benchmarks" / "results" / "formats.json"
TABLE = ROOT / "benchmarks" / "others" / "table.py"
REFUSED = "Ultralytics metadata"


def parts():
    return json.loads(MEASURED.read_text(encoding="utf-8"))["parts"]


def rows():
    return [row for name, part in parts().items() if name != "bad exports" for row in part]


def test_the_tables_of_formats_are_those_that_were_measured():
    done = subprocess.run([sys.executable, TABLE, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_format_opened_with_the_right_card_when_it_was_measured():
    found = rows()
    assert len({row["format"] for row in found}) >= 9
    for row in found:
        assert row["opens"] == (row["format"] != REFUSED), row["format"]
        assert not row["wrong"], row["format"]


def test_nothing_unexplained_was_left_of_any_difference():
    for row in rows():
        left = [gap for gap in row["gaps"] if not gap["unit"]]
        if not left:
            continue
        nearest = min(left, key=lambda gap: gap["mean"])
        allowed = {"labels": 1e-4, "values": 1e-4, "values fed to the network": 1e-6}
        assert nearest["mean"] <= allowed.get(row["unit"], 1e-4), row["example"]


def test_every_bad_export_was_named_and_those_that_can_be_mended_answer_as_good_ones():
    found = parts()["bad exports"]
    assert len(found) >= 10
    for one in found:
        assert one["severity"] in ("error", "warning"), one["fault"]
        assert not one["mended"] or one["to_good"] <= 2e-6, one["fault"]
