import numpy as np
import onnxruntime as ort
import pytest
import stand_ins

import nets
from napari_onnxseg.errors import ChoiceError, DeviceError, ModelError
from napari_onnxseg.runtime import build, providers
from napari_onnxseg.runtime.providers import CPU, CUDA, candidates, devices
from napari_onnxseg.runtime.session import open_session

FAULTS = [stand_ins.Raising, stand_ins.Silent, stand_ins.NoCudnn]


def test_without_a_gpu_only_the_cpu_is_offered(no_gpu):
    assert [device.provider for device in candidates("auto")][-1] == CPU
    assert not {"cuda", "tensorrt"} & set(devices())
    assert devices()[:2] == ("auto", "cpu")


def test_a_gpu_is_tried_first_and_named(gpu):
    first, last = candidates("auto")
    assert (first.provider, first.label) == (CUDA, "CUDA 0 (Toy GPU)")
    assert (last.provider, last.label) == (CPU, "CPU")
    assert devices() == ("auto", "cpu", "gpu", "cuda", "cuda:1")


def test_one_of_several_gpus_is_chosen_by_number(gpu):
    (device,) = candidates("cuda:1")
    assert device.options["device_id"] == "1"
    assert device.label == "CUDA 1 (Other GPU)"


def test_the_slow_search_for_convolutions_is_off(gpu):
    assert candidates("cuda")[0].options["cudnn_conv_algo_search"] == "HEURISTIC"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("cuda:7", r"'cuda:7' does not exist; the GPUs here are cuda:0 \(Toy GPU\)"),
        ("directml", r"has no DirectML; choose from auto, cpu, gpu, cuda, cuda:1"),
    ],
)
def test_a_device_that_cannot_be_is_refused_with_what_can(gpu, request_, message):
    with pytest.raises(DeviceError, match=message):
        candidates(request_)


@pytest.mark.parametrize("request_", ["toaster", "cuda:one", "cuda:", "cpu:1", "auto:0", ""])
def test_an_unknown_device_is_a_wrong_choice(request_):
    with pytest.raises(ChoiceError, match=f"'{request_}' is not a device; use auto, cpu"):
        candidates(request_)


@pytest.mark.parametrize("request_", ["gpu", "cuda"])
def test_asking_for_a_gpu_where_there_is_none_raises(no_gpu, monkeypatch, request_):
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA, CPU])
    with pytest.raises(DeviceError, match="no GPU with a working driver"):
        candidates(request_)


def test_a_gpu_that_works_is_used_and_reported(gpu, made, monkeypatch):
    monkeypatch.setattr(ort, "InferenceSession", stand_ins.OnGpu)
    session = open_session(made(nets.two_class))
    assert (session.device, session.provider, session.notes) == ("CUDA 0 (Toy GPU)", CUDA, ())


def test_the_runtimes_own_fallback_is_off(gpu, made, monkeypatch):
    monkeypatch.setattr(ort, "InferenceSession", stand_ins.OnGpu)
    open_session(made(nets.two_class), "cuda")
    made_with = stand_ins.OnGpu.made[-1]
    assert (made_with["enable_fallback"], made_with["read_config_from_model"]) == (0, 0)


@pytest.mark.parametrize("fault", FAULTS)
def test_auto_falls_back_to_the_cpu_and_says_why(gpu, made, monkeypatch, fault):
    monkeypatch.setattr(ort, "InferenceSession", fault)
    session = open_session(made(nets.two_class), "auto")
    assert (session.device, session.provider) == ("CPU", CPU)
    (note,) = session.notes
    assert note.startswith("CUDA 0 (Toy GPU) was left aside")
    assert "napari-onnxseg[cuda]" in note or "CUDA_PATH" in note
    assert session.run(np.ones((1, 1, 4, 4), np.float32)).shape == (1, 2, 4, 4)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("request_", ["cuda", "gpu"])
def test_an_explicit_device_never_falls_back(gpu, made, monkeypatch, fault, request_):
    monkeypatch.setattr(ort, "InferenceSession", fault)
    with pytest.raises(DeviceError) as caught:
        open_session(made(nets.two_class), request_)
    assert "\n" not in str(caught.value)


def test_the_missing_library_is_named_when_a_gpu_cannot_be_started(gpu, made, monkeypatch):
    monkeypatch.setattr(ort, "InferenceSession", stand_ins.Silent)
    monkeypatch.setattr(build, "broken_library", lambda: "libcublasLt.so.13: cannot open")
    with pytest.raises(DeviceError, match=r"libcublasLt\.so\.13"):
        open_session(made(nets.two_class), "cuda")


@pytest.mark.skipif(
    not hasattr(ort.InferenceSession, "get_provider_graph_assignment_info"),
    reason="this onnxruntime does not tell which operators run where",
)
def test_heavy_operators_left_to_the_cpu_are_reported(gpu, made, monkeypatch):
    class Mixed(stand_ins.OnGpu):
        def get_provider_graph_assignment_info(self):
            return self.real.get_provider_graph_assignment_info()

    monkeypatch.setattr(ort, "InferenceSession", Mixed)
    session = open_session(made(nets.unet))
    assert "Conv" in session.nodes_on_cpu
    assert any("leaves Concat" not in note and "to the CPU" in note for note in session.notes)


def test_a_model_that_no_device_can_load_is_not_blamed_on_the_gpu(gpu, made, monkeypatch):
    class Outdated(stand_ins.OnGpu):
        def __init__(self, *_, **__):
            raise ort.capi.onnxruntime_pybind11_state.Fail(
                "Unsupported model IR version: 99, max supported IR version: 13"
            )

    monkeypatch.setattr(ort, "InferenceSession", Outdated)
    with pytest.raises(ModelError, match="file format version 99"):
        open_session(made(nets.two_class))


def test_what_loading_cuda_prints_is_kept_off_the_screen(monkeypatch, capsys):
    monkeypatch.setattr(ort, "preload_dlls", lambda: print("Failed to load x"), raising=False)
    providers.load_cuda_libraries.cache_clear()
    assert providers.load_cuda_libraries() == "Failed to load x"
    assert capsys.readouterr().out == ""
    providers.load_cuda_libraries.cache_clear()
