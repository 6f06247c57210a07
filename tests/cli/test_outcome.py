from pathlib import Path

import pytest

from napari_onnxseg.cli.faults import describe, exit_code
from napari_onnxseg.cli.outcome import Tally
from napari_onnxseg.errors import (
    CancelledError,
    ChoiceError,
    DeviceError,
    ImageError,
    ModelError,
    ModelNotFoundError,
    TileError,
)
from napari_onnxseg.pipeline.folder_outcome import ImageOutcome, failed

DONE = ImageOutcome(Path("a"), "done")
SKIPPED = ImageOutcome(Path("b"), "skipped")
FAILED, USAGE = failed(Path("c"), ImageError("x")), failed(Path("d"), ChoiceError("x"))
REFUSED, CANCELLED = failed(Path("e"), DeviceError("x")), failed(Path("f"), CancelledError("x"))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ChoiceError("x"), 2),
        (TileError("x"), 2),
        (ModelNotFoundError("x"), 2),
        (ModelError("x"), 1),
        (ImageError("x"), 1),
        (OSError("x"), 1),
        (MemoryError(), 1),
        (DeviceError("x"), 3),
        (CancelledError("x"), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_fault_has_its_exit_code(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_our_own_faults_are_one_line_and_others_name_their_type() -> None:
    assert describe(ImageError("It is\n  empty.")) == "It is empty."
    assert describe(ValueError("odd")) == "ValueError: odd"
    assert describe(MemoryError()) == "MemoryError"


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([DONE, DONE], 0),
        ([DONE, SKIPPED], 0),
        ([DONE, FAILED], 1),
        ([DONE, USAGE], 1),
        ([USAGE], 2),
        ([USAGE, FAILED], 1),
        ([DONE, REFUSED, SKIPPED], 3),
        ([DONE, CANCELLED, SKIPPED], 130),
    ],
)
def test_the_whole_run_has_one_exit_code(outcomes: list[ImageOutcome], code: int) -> None:
    with Tally("segment", as_json=False) as tally:
        for outcome in outcomes:
            tally.add(outcome)
        assert tally.code == code


def test_a_failed_image_says_why_and_nothing_else() -> None:
    outcome = failed(Path("c.png"), ImageError("It is empty."))
    assert outcome.to_json() == {
        "input": "c.png", "status": "failed", "reason": "It is empty."
    }  # fmt: skip
