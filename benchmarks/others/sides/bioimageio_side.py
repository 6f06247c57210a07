"""Runs where bioimageio.core is installed: validates a package, and predicts with it."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
request = json.loads((folder / "request.json").read_text())

from bioimageio.core import (  # noqa: E402
    create_prediction_pipeline,
    load_description,
    test_description,
)
from bioimageio.core.digest_spec import create_sample_for_model, get_member_id  # noqa: E402

model = load_description(request["package"], perform_io_checks=True)
if type(model).__name__ != "ModelDescr":
    raise SystemExit(model.validation_summary.format())
answer = {"tool": f"bioimageio.core {version('bioimageio.core')}", "kind": type(model).__name__}
if request["test"]:
    summary = test_description(model, weight_format="onnx")
    answer["test"] = summary.status
    answer["faults"] = [str(error.msg) for detail in summary.details for error in detail.errors]
pipeline = create_prediction_pipeline(model, weight_format="onnx")
name = get_member_id(model.inputs[0])
given = np.load(request["tensor"])


def fresh():
    """Return a sample that nothing was done to."""
    return create_sample_for_model(model, inputs={name: given}, sample_id="one")


def keep(found, what):
    """Leave all outputs of a run."""
    for number, output in enumerate(model.outputs):
        data = found.members[get_member_id(output)].data
        np.save(folder / f"out-{what}{number}.npy", np.asarray(data))


try:
    with pipeline as running:
        sample = fresh()
        running.apply_preprocessing(sample)
        np.save(folder / "out-fed.npy", np.asarray(sample.members[name].data))
        keep(running.predict_sample_without_blocking(fresh()), "result")
        keep(
            running.predict_sample_without_blocking(
                fresh(), skip_input_padding=True, skip_output_cropping=True
            ),
            "bare",
        )
except KeyError as fault:
    answer["failed"] = f"KeyError: {fault}"
(folder / "answer.json").write_text(json.dumps(answer))
