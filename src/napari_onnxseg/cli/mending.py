"""``onnxseg models mend``: a mended copy of a file, and how its answers differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from napari_onnxseg.cards.native import read_description
from napari_onnxseg.cli.asked import MendAsked
from napari_onnxseg.cli.screen import print_json, say, show
from napari_onnxseg.errors import ModelNotFoundError
from napari_onnxseg.graph.mend import Choices, Mended
from napari_onnxseg.graph.subject import Wanted
from napari_onnxseg.pipeline.examined import mend_model
from napari_onnxseg.runtime.compare import Comparison


def mend_file(asked: MendAsked) -> None:
    """Write the copy, and say what was done, what was left, and what differs.

    Parameters
    ----------
    asked : MendAsked
        The file, and what to mend.
    """
    wanted = Wanted(asked.layout, asked.output)
    mended, beside = mend_model(asked.model, asked.out, _choices(asked), wanted)
    if asked.as_json:
        print_json(_as_json(mended, beside))
        return
    show("\n".join(f"done: {words}" for words in mended.done) or "nothing to mend")
    for words in mended.left:
        say("[yellow]left[/yellow]: ", words)
    for finding in mended.report.of("error"):
        say("[red]error[/red]: ", finding.title)
    show(beside.words())
    show(f"{mended.report.verdict}.")


def _choices(asked: MendAsked) -> Choices:
    """Return what was asked for as the mender takes it, which checks the words."""
    return Choices(
        batch=asked.batch,
        sides=asked.sides,
        inference=asked.inference,
        float32=asked.float32,
        keep=tuple(asked.keep or ()),
        activation=cast(Any, asked.activation),
        resize=cast(Any, asked.resize),
        opset=asked.opset,
        external=cast(Any, asked.external),
        card=_card(asked.card) if asked.card else None,
    )


def _card(path: Path) -> Mapping[str, Any]:
    """Return the content of a card, once it is known to be one."""
    if not path.exists():
        raise ModelNotFoundError(f"There is no card '{path}'.")
    read_description(path)
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    return content


def _as_json(mended: Mended, beside: Comparison) -> dict[str, Any]:
    return {
        "path": str(mended.path),
        "done": mended.done,
        "left": mended.left,
        "comparison": {**asdict(beside), "words": beside.words()},
        "report": mended.report.to_json(),
    }
