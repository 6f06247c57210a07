"""Fixtures of the tests that need napari and Qt; without them this folder is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NEEDED = ("napari", "qtpy", "pytestqt")
collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["test_*.py"]

GL_MAX_3D_TEXTURE_SIZE = 32883


@pytest.fixture(autouse=True, scope="session")
def _canvas_without_x_server() -> None:
    stub_gl_if_needed()


def stub_gl_if_needed() -> None:
    """Give napari the numbers it asks OpenGL for; the canvas stays blank."""
    if os.environ.get("QT_QPA_PLATFORM") == "offscreen" and not os.environ.get("DISPLAY"):
        _stub_gl()


def _stub_gl() -> None:
    """Answer for an OpenGL context that is not there."""
    from napari._vispy.utils import gl as napari_gl
    from vispy.gloo import gl

    real = gl.glGetParameter
    stand_in = {
        gl.GL_EXTENSIONS: "GL_ARB_texture_float",
        gl.GL_MAX_TEXTURE_SIZE: 16384,
        GL_MAX_3D_TEXTURE_SIZE: 2048,
    }

    def answer(name: int) -> Any:
        try:
            return real(name) or stand_in.get(name)
        except Exception:
            return stand_in.get(name)

    gl.glGetParameter = napari_gl.gl.glGetParameter = answer
    napari_gl.get_gl_extensions.cache_clear()
    napari_gl.get_max_texture_sizes.cache_clear()


@pytest.fixture(autouse=True)
def _no_run_outlives_its_test() -> Iterator[None]:
    """End the run of a failed test, so that the next one may start."""
    yield
    from qtpy.QtTest import QTest

    from napari_onnxseg.plugin.worker import Run, cancel_all

    cancel_all()
    for _ in range(100):
        if Run.current() is None:
            return
        QTest.qWait(20)
    raise AssertionError("a run is still in progress")


@pytest.fixture
def gl() -> None:
    """Skip without an X server that draws."""
    offscreen = os.environ.get("QT_QPA_PLATFORM") in ("offscreen", "minimal")
    if offscreen or not os.environ.get("DISPLAY"):
        pytest.skip("needs an X server with OpenGL, such as xvfb-run gives")


@pytest.fixture
def data_folder() -> Path:
    """Real images; skips without."""
    folder = os.environ.get("ONNXSEG_DATA")
    if not folder:
        pytest.skip("set ONNXSEG_DATA to a folder with the real images")
    return Path(folder)


@pytest.fixture
def messages() -> Iterator[list[str]]:
    """Collect what napari would show as notifications."""
    from napari.utils.notifications import notification_manager

    seen: list[str] = []

    def take(notification: Any) -> None:
        seen.append(f"{notification.severity}: {notification.message}")

    notification_manager.notification_ready.connect(take)
    yield seen
    notification_manager.notification_ready.disconnect(take)


@pytest.fixture
def desk(qtbot: Any, monkeypatch: Any) -> Any:
    """Make a desk to open widgets on, with a stand-in for the model."""
    from desk import Desk

    return Desk(qtbot, monkeypatch)
