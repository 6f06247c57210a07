"""Networks exported badly on purpose: what the check says, and what mending makes of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bad_exports import BAD, Bad, export
from napari_onnxseg.errors import OnnxSegError
from napari_onnxseg.runtime.bare import Bare
from napari_onnxseg.runtime.compare import mend_beside
from napari_onnxseg.runtime.verdict import judge

SHAPE = (1, 1, 96, 128)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One bad export.

    Parameters
    ----------
    fault : str
        What was done wrong.
    severity, code, title : str
        The finding that names it.
    others : int
        Further errors and warnings about the same file.
    mended : bool
        Whether a copy without the fault was written.
    words : str
        What was done, or why nothing was.
    beside : str
        The copy beside the bad export, in words.
    to_good : float or None
        Largest difference of scores between the mended copy and the same network exported
        well, as a share of the largest score.
    """

    fault: str
    severity: str
    code: str
    title: str
    others: int
    mended: bool
    words: str
    beside: str = ""
    to_good: float | None = None


def verdicts(folder: Path) -> list[dict[str, Any]]:
    """Export, check and mend all of them."""
    folder.mkdir(parents=True)
    return [
        asdict(_verdict(name, bad, folder / str(n))) for n, (name, bad) in enumerate(BAD.items())
    ]


def _verdict(name: str, bad: Bad, folder: Path) -> Verdict:
    """Check and mend one."""
    folder.mkdir()
    path = bad.write(folder / "bad.onnx", bad.plan)
    found = judge(path)
    named = next(one for one in found.findings if one.code == bad.code)
    serious = [one for one in found.findings if one.severity != "info" and one.code != bad.code]
    title = _placeless(named.title, folder)
    told = (name, named.severity, named.code, title, len(serious))
    try:
        mended, beside = mend_beside(path, folder / "mended.onnx", bad.choices)
    except OnnxSegError as fault:
        return Verdict(*told, False, _placeless(str(fault), folder))
    if bad.code in mended.report.codes or bad.good is None:
        return Verdict(*told, False, "; ".join(mended.left) or named.meaning)
    gap = _to_good(mended.path, export(folder / "good.onnx", bad.good))
    return Verdict(*told, True, "; ".join(mended.done), beside.words(), gap)


def _placeless(words: str, folder: Path) -> str:
    """Leave the temporary folder out of a sentence."""
    return words.replace(f" in '{folder}'", " beside it")


def _to_good(mended: Path, good: Path) -> float:
    """Compare the mended copy with the network exported well."""
    picture = np.random.default_rng(3).random(SHAPE, np.float32)
    ours, wanted = (
        next(iter(Bare(path).run("input", picture).values())) for path in (mended, good)
    )
    apart = np.abs(ours.astype(np.float64) - wanted.astype(np.float64)).max()
    return float(f"{apart / np.abs(wanted).max():.2g}")
