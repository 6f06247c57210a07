"""Sentences of the widgets."""

from __future__ import annotations

import pytest
from fakes import BACKGROUND, BORDER, NUCLEUS

from napari_onnxseg.errors import TileError
from napari_onnxseg.pipeline.job import Progress
from napari_onnxseg.plugin.words import (
    class_shares,
    duration_words,
    error_words,
    numbers_words,
    progress_words,
    seconds_left,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 00 s"), (7500, "2 h 05 min")],
)
def test_durations_are_as_precise_as_they_are_useful(seconds, words):
    assert duration_words(seconds) == words


def test_the_time_left_is_the_mean_of_the_steps_so_far():
    assert seconds_left(Progress(10, 40), 5.0) == 15.0
    assert seconds_left(Progress(0, 40), 5.0) is None
    assert seconds_left(Progress(40, 40), 5.0) is None


def test_progress_counts_tiles_and_names_other_stages():
    assert progress_words(Progress(10, 40), 5.0) == "10 of 40 tiles · 15 s left"
    assert progress_words(Progress(1, 1), 5.0) == "1 of 1 tile"
    assert progress_words(Progress(0, 40, stage="loading"), 0.0) == "Loading the model …"


def test_shares_leave_out_the_background_and_never_hide_what_is_there():
    classes = (BACKGROUND, NUCLEUS, BORDER)
    assert class_shares({"0": 500, "1": 499, "2": 1}, classes) == "Found nucleus 50 %, border < 1 %"
    assert class_shares({"0": 10}, classes) == "Only background found"
    assert class_shares({"0": 5, "9": 5}, classes) == "Found class 9 50 %"
    assert class_shares({}, classes) == "Only background found"


def test_errors_of_ours_are_sentences_and_others_keep_their_type():
    assert error_words(TileError("Too small.")) == "Too small."
    assert error_words(KeyError("x")) == "KeyError: 'x'"


def test_equal_sides_are_said_once():
    assert numbers_words((512, 512)) == "512"
    assert numbers_words((512, 640)) == "512 × 640"
