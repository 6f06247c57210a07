from pathlib import Path

import pytest

from napari_onnxseg.cli.faults import ExitCode, describe, exit_code
from napari_onnxseg.cli.outcome import Outcome, total_code
from napari_onnxseg.errors import (
    CancelledError,
    ChoiceError,
    DeviceError,
    ImageError,
    ModelError,
    ModelNotFoundError,
    TileError,
)

DONE = Outcome(Path("a"), "done")
SKIPPED = Outcome(Path("b"), "skipped")


def failed(code: ExitCode) -> Outcome:
    return Outcome(Path("c"), "failed", code=code)


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
        ([DONE, failed(ExitCode.FAILED)], 1),
        ([DONE, failed(ExitCode.USAGE)], 1),
        ([failed(ExitCode.USAGE)], 2),
        ([failed(ExitCode.USAGE), failed(ExitCode.FAILED)], 1),
        ([DONE, failed(ExitCode.DEVICE), SKIPPED], 3),
        ([DONE, failed(ExitCode.CANCELLED), SKIPPED], 130),
    ],
)
def test_the_whole_run_has_one_exit_code(outcomes: list[Outcome], code: int) -> None:
    assert total_code(outcomes) == code


def test_a_failed_image_says_why_and_nothing_else() -> None:
    outcome = Outcome(Path("c.png"), "failed", error="It is empty.", code=ExitCode.FAILED)
    assert outcome.to_json() == {
        "input": "c.png", "status": "failed", "reason": "It is empty."
    }  # fmt: skip
