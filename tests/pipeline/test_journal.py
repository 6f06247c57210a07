import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_onnxseg.errors import ChoiceError, RunError
from napari_onnxseg.pipeline.journal import NAME, Journal

IDENTITY = {"model": "a1b2", "job": {"threshold": 0.5, "tile": (512, 512)}, "image": "c3"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    journal = Journal.begin(tmp_path_factory.mktemp("run") / NAME, IDENTITY)
    journal.fact("statistics", {"mean": 0.1 + 0.2, "std": 1e-300})
    journal.tiles((0,), [0, 1])
    journal.tiles((1,), [3])
    journal.tiles((0,), [7])
    return journal


def test_another_run_knows_what_was_done(written):
    again = Journal.resume(written.path, IDENTITY)
    assert again.done == {(0,): {0, 1, 7}, (1,): {3}} == written.done
    assert again.facts == {"statistics": {"mean": 0.1 + 0.2, "std": 1e-300}} == written.facts


def test_a_resumed_run_goes_on_in_the_same_file(tmp_path):
    path = tmp_path / NAME
    Journal.begin(path, IDENTITY).tiles((), [1])
    Journal.resume(path, IDENTITY).tiles((), [2])
    assert Journal.resume(path, IDENTITY).done == {(): {1, 2}}


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.data())
def test_wherever_the_file_ends_a_beginning_of_it_is_known_and_writing_goes_on(written, data):
    content = written.path.read_bytes()
    first = content.index(b"\n") + 1
    cut = data.draw(st.integers(first, len(content)))
    torn = written.path.with_name("torn.jsonl")
    torn.write_bytes(content[:cut] + data.draw(st.binary(max_size=20)).replace(b"\n", b""))
    again = Journal.resume(torn, IDENTITY)
    assert sum(map(len, again.done.values())) == [0, 0, 2, 3, 4][content[:cut].count(b"\n") - 1]
    again.tiles((9,), [5])
    assert Journal.resume(torn, IDENTITY).done == again.done


@pytest.mark.parametrize("content", [b"", b"{}\n", b"0 {}\n", b"\0" * 100, b"12345678 {}\n"])
def test_a_journal_without_a_beginning_is_refused(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(ChoiceError, match="is damaged; start the run anew"):
        Journal.resume(tmp_path / NAME, IDENTITY)


def test_no_journal_is_said(tmp_path):
    with pytest.raises(ChoiceError, match="no run to go on with"):
        Journal.resume(tmp_path / NAME, IDENTITY)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "ffff"}, 'with model "a1b2", now it is "ffff"'),
        ({"job": {"threshold": 0.4, "tile": (512, 512)}}, "'threshold' 0.5, now it is 0.4"),
        ({"job": {"threshold": 0.5}}, r"'tile' \[512, 512\], now it is null"),
        ({"image": None}, 'with image "c3", now it is null'),
        ({"more": 1}, "with more null, now it is 1"),
    ],
)
def test_a_run_that_would_give_something_else_is_refused_and_nothing_changes(
    written, change, words
):
    before = written.path.read_bytes()
    with pytest.raises(ChoiceError, match=words):
        Journal.resume(written.path, IDENTITY | change)
    assert written.path.read_bytes() == before


@pytest.mark.parametrize("wrote", [0, 5])
def test_a_full_disk_takes_nothing_back_but_the_line_itself(tmp_path, monkeypatch, wrote):
    journal = Journal.begin(tmp_path / NAME, IDENTITY)
    journal.tiles((0,), [1])
    before = journal.path.read_bytes()
    real = os.pwrite

    def full(file, line, end):
        real(file, line[:wrote], end)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RunError, match="No space left on device; make room there and run again"):
        journal.tiles((0,), [2])
    monkeypatch.undo()
    assert journal.path.read_bytes() == before
    assert journal.done == {(0,): {1}}
