import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import nets
from napari_onnxseg.cli import app

UNIT = {"input": {"normalization": {"method": "unit"}}}


@dataclass(frozen=True)
class Typed:
    """What a command gave back."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def separate_runner() -> CliRunner:
    """Return a runner that keeps the two outputs apart; older ones have to be told."""
    try:
        return CliRunner(mix_stderr=False)
    except TypeError:
        return CliRunner()


@pytest.fixture
def onnxseg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Typed]:
    """Return a function that runs the command line inside an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Typed:
        result = separate_runner().invoke(app, [str(word) for word in words])
        return Typed(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """Return a model of two classes that cuts at half of the full range."""
    (tmp_path / "models").mkdir(exist_ok=True)
    return nets.two_class(tmp_path / "models" / "halves.onnx", card=UNIT)


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    """Return a cut-out model for which bright is subject."""
    (tmp_path / "models").mkdir(exist_ok=True)
    card = {**UNIT, "task": "matting", "output": {"scores": "probabilities"}}
    return nets.saliency(tmp_path / "models" / "subject.onnx", card=card)


@pytest.fixture
def grey() -> np.ndarray:
    """Return uint8 (40, 50), every value from 0 to 255."""
    return np.random.default_rng(7).integers(0, 256, (40, 50), dtype=np.uint8)


@pytest.fixture
def picture(tmp_path: Path, grey: np.ndarray) -> Path:
    """Return ``grey`` as a PNG."""
    Image.fromarray(grey).save(tmp_path / "grey.png")
    return tmp_path / "grey.png"


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test fail when a model is opened."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the model was opened")

    monkeypatch.setattr("napari_onnxseg.pipeline.engine.open_session", refuse)
