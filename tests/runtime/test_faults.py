import pytest

from bad_exports import WELL, double
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import (
    CancelledError,
    DeviceError,
    ModelError,
    OutOfMemoryError,
    RunError,
    TileError,
)
from napari_onnxseg.runtime.faults import translate
from napari_onnxseg.runtime.session import open_session


@pytest.mark.parametrize(
    ("text", "stage", "kind"),
    [
        ("Exiting due to terminate flag being set to true.", "run", CancelledError),
        ("Failed to allocate memory for requested buffer of size 12", "run", OutOfMemoryError),
        ("CUDA failure 2: out of memory ; GPU=0", "run", OutOfMemoryError),
        ("CUBLAS_STATUS_ALLOC_FAILED", "run", OutOfMemoryError),
        ("cuDNN is not available. Install cuDNN", "run", DeviceError),
        ("CUDA failure 35: driver version is insufficient", "load", DeviceError),
        ("Load model from x failed:Protobuf parsing failed. INVALID_PROTOBUF", "load", ModelError),
        ("Could not find an implementation for Conv(22) node", "load", ModelError),
        ("External data path validation failed ... escapes model directory", "load", ModelError),
        ("something never seen before", "load", ModelError),
        ("something never seen before", "run", RunError),
    ],
)
def test_every_message_becomes_the_fitting_fault(text, stage, kind):
    fault = translate(Exception(text), stage)
    assert type(fault) is kind
    assert "\n" not in str(fault)


def test_a_long_foreign_message_is_cut_at_its_front():
    fault = translate(Exception("x" * 5000 + " the reason"), "run")
    assert len(str(fault)) < 260
    assert str(fault).endswith("the reason")


def test_our_own_faults_pass_through():
    fault = TileError("Tile 3 is too small.")
    assert translate(fault, "run") is fault


def test_the_computers_own_memory_error_is_translated():
    assert isinstance(translate(MemoryError(), "run"), OutOfMemoryError)


def test_an_operator_that_is_missing_for_a_kind_of_numbers_is_not_called_unknown(tmp_path):
    path = double(tmp_path / "wide.onnx", WELL)
    with pytest.raises(ModelError) as caught:
        open_session(load_card(path), "cpu")
    assert "has no 'Conv' for the kind of numbers" in str(caught.value)
    assert "float32" in str(caught.value)
