import onnxruntime as ort
import pytest

from napari_onnxseg.cards.read import load_card
from napari_onnxseg.runtime import providers
from napari_onnxseg.runtime.gpus import Gpu
from napari_onnxseg.runtime.session import release

GPUS = (Gpu(0, "Toy GPU", 8 << 30), Gpu(1, "Other GPU", 8 << 30))


@pytest.fixture(autouse=True)
def nothing_left_open():
    yield
    release()


@pytest.fixture
def made(tmp_path):
    """Build a net and return its card."""

    def make(build, **choices):
        return load_card(build(tmp_path / f"{build.__name__}.onnx", **choices))

    return make


@pytest.fixture
def gpu(monkeypatch):
    """Pretend that the computer has two GPUs and a runtime built for CUDA."""
    monkeypatch.setattr(providers, "nvidia_gpus", lambda: GPUS)
    built = [providers.CUDA, providers.CPU]
    monkeypatch.setattr(ort, "get_available_providers", lambda: built)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(providers, "nvidia_gpus", lambda: ())
