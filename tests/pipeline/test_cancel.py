"""One switch, from any thread, once."""

from __future__ import annotations

import pytest

from napari_onnxseg.errors import CancelledError
from napari_onnxseg.pipeline.cancel import Cancel


def test_nothing_happens_before_it_is_set():
    cancel = Cancel()
    cancel.check()
    assert not cancel.requested


def test_it_calls_what_is_under_way_and_raises_at_the_next_check():
    cancel, called = Cancel(), []
    with cancel.calling(lambda: called.append(1)):
        cancel.set()
        assert called == [1]
    with pytest.raises(CancelledError, match="cancelled"):
        cancel.check()


def test_what_is_over_is_not_called():
    cancel, called = Cancel(), []
    with cancel.calling(lambda: called.append(1)):
        pass
    cancel.set()
    assert called == []


def test_what_begins_after_the_request_is_called_at_once():
    cancel, called = Cancel(), []
    cancel.set()
    with cancel.calling(lambda: called.append(1)):
        assert called == [1]
