import pytest

import nets
from napari_onnxseg.graph.subject import read_subject
from napari_onnxseg.runtime.bare import Bare
from napari_onnxseg.runtime.trial import try_geometry
from random_nets import random_net


@pytest.mark.parametrize("seed", range(20))
def test_a_trial_agrees_with_the_graph_of_random_networks(tmp_path, seed):
    path = random_net(tmp_path / "a.onnx", seed)
    subject = read_subject(path)
    seen = try_geometry(Bare(path), subject)
    assert not seen.faults
    assert not seen.skipped
    assert 0 < max(seen.seen) <= max(subject.view.radius)


@pytest.mark.parametrize(
    "build", [nets.half_resolution, nets.double_resolution, nets.shrink, nets.unpadded_unet]
)
def test_a_trial_agrees_where_the_output_has_another_size(tmp_path, build):
    path = build(tmp_path / "a.onnx")
    assert not try_geometry(Bare(path), read_subject(path)).faults


def test_a_network_that_looks_too_far_is_not_tried(tmp_path):
    path = nets.box(tmp_path / "a.onnx", radius=400)
    assert "picture of 8" in try_geometry(Bare(path), read_subject(path)).skipped
