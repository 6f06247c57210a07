import json

import onnxruntime as ort
import pytest
import stand_ins

from napari_onnxseg.runtime import doctor
from napari_onnxseg.runtime.providers import CUDA


def line(report, name):
    return next(check for check in report.lines if check.name == name)


def test_a_working_computer_is_fine():
    report = doctor.examine()
    assert report.ok
    assert line(report, "CPU").status == "ok"
    assert "Python" in line(report, "System").text


def test_the_report_can_be_written_as_json():
    content = json.loads(json.dumps(doctor.examine().to_json()))
    assert {"name", "status", "text"} == set(content["lines"][0])


@pytest.mark.parametrize("both", [True, False])
def test_two_runtimes_in_one_environment_are_a_failure(monkeypatch, both):
    found = {"onnxruntime": "1.32.0", "onnxruntime-gpu": "1.31.1" if both else ""}
    monkeypatch.setattr(doctor, "_version", lambda name: found.get(name, "1.0"))
    monkeypatch.setattr(doctor, "RUNTIMES", tuple(found))
    check = line(doctor.examine(), "ONNX Runtime")
    assert check.status == ("fail" if both else "ok")
    if both:
        assert "pip uninstall -y onnxruntime onnxruntime-gpu" in check.text


def test_an_accelerator_that_is_listed_is_tried(gpu, monkeypatch):
    monkeypatch.setattr(ort, "InferenceSession", stand_ins.NoCudnn)
    assert line(doctor.examine(), "CUDA").status == "warn"
    monkeypatch.setattr(ort, "InferenceSession", stand_ins.OnGpu)
    check = line(doctor.examine(), "CUDA")
    assert (check.status, check.text) == ("ok", "CUDA 0 (Toy GPU) ran a small network")


def test_what_is_missing_is_said_without_sending_to_the_doctor(gpu, monkeypatch):
    for fault in (stand_ins.NoCudnn, stand_ins.Silent):
        monkeypatch.setattr(ort, "InferenceSession", fault)
        text = line(doctor.examine(), "CUDA").text
        assert "onnxseg doctor" not in text
        assert 'pip install "napari-onnxseg[cuda]"' in text


def test_a_listed_accelerator_without_hardware_is_no_warning(no_gpu, monkeypatch):
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA, "CPUExecutionProvider"])
    report = doctor.examine()
    check = line(report, "CUDA")
    assert check.status == "ok"
    assert check.text.startswith("not available, no NVIDIA GPU with a working driver")
    assert 'pip install "napari-onnxseg[cuda]"' in check.text


def test_two_threads_of_one_core_count_once(monkeypatch):
    monkeypatch.setattr(doctor, "_affinity", lambda: {0, 1, 2, 3})
    monkeypatch.setattr(doctor, "_quota", lambda: 8)
    monkeypatch.setattr(doctor, "_siblings", lambda number: f"{number % 2},{number % 2 + 2}")
    assert doctor.physical_cores() == 2
    assert doctor.usable_cpus() == 4


def test_the_limit_of_a_container_counts(monkeypatch):
    monkeypatch.setattr(doctor, "_affinity", lambda: set(range(16)))
    monkeypatch.setattr(doctor, "_quota", lambda: 3)
    monkeypatch.setattr(doctor, "_siblings", str)
    assert doctor.physical_cores() == 3
