"""Models of several outputs, shown, described and edited on the command line."""

import json

import pytest

from foreign import BIAS, WEIGHT
from netbuild import Net, save
from nets import dims_of


@pytest.fixture
def described(tmp_path, monkeypatch):
    """Return a network of classes and, beside them, two values for each pixel, with its card."""
    monkeypatch.setenv("ONNXSEG_MODELS", str(tmp_path / "mine"))
    net = Net(dims_of("NCHW", None, 3, (None, None)))
    scores = net.conv("input", WEIGHT[:, :, None, None], BIAS)
    values = net.conv("input", WEIGHT[:2, :, None, None], BIAS[:2])
    dims = {
        name: ("float32", dims_of("NCHW", None, count, (None, None)))
        for name, count in {scores: 4, values: 2}.items()
    }
    flow = {
        "name": values,
        "title": "Flow",
        "task": "image",
        "channels": ["down", "right"],
        "after": [{"op": "scale_linear", "gain": 5}],
    }
    card = {
        "format": 1,
        "task": "semantic",
        "outputs": [{"name": scores, "title": "Kinds"}, flow],
        "pixel_size": {"value": 2, "unit": "cm"},
        "suggested": {"tile": 256, "threshold": 0.4},
    }
    path = save(net.model(dims), tmp_path / "net.onnx")
    path.with_suffix(".json").write_text(json.dumps(card))
    return path


def rows(text):
    """Return the rows of a table, lines that go on put together."""
    found: list[str] = []
    for line in text.splitlines():
        if line[:1] == " " and found:
            found[-1] += " " + " ".join(line.split())
        else:
            found.append(" ".join(line.split()))
    return found


def test_all_outputs_are_shown_with_what_is_done_to_them(onnxseg, described, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    found = rows(onnxseg("models", "show", described).stdout)
    assert "pixel_size 2 cm from its card" in found
    assert "suggested tile 256 px, threshold 0.4 from its card" in found
    (flow,) = (row for row in found if row.startswith("output 2: Flow"))
    assert "down, right; then times 5; 2 channels" in flow
    assert flow.endswith("from its card")
    assert any(row.startswith("normalization") and row.endswith("a guess") for row in found)


def test_outputs_that_nobody_describes_are_shown_as_guesses(onnxseg, described, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    described.with_suffix(".json").unlink()
    found = rows(onnxseg("models", "show", described).stdout)
    assert any(row.startswith("output 2") and row.endswith("a guess") for row in found)
    asked = onnxseg("models", "describe", described, "--json").json["questions"]
    answers = [f"{one['entry']}={json.dumps(one['assumed'])}" for one in asked]
    assert onnxseg("models", "edit", described, *answers).exit_code == 0
    assert "a guess" not in onnxseg("models", "show", described).stdout


def test_an_output_is_edited_by_its_title(onnxseg, described):
    done = onnxseg("models", "edit", described, "outputs.Flow.channels.0=up")
    assert done.stdout == 'outputs.Flow.channels.0: "down" -> "up"\n'
    shown = onnxseg("models", "show", described, "--json").json
    assert shown["others"][0]["channels"] == ["up", "right"]
    assert shown["others"][0]["after"][0]["gain"] == [5.0]
