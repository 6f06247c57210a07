import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import stand_ins

import nets
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.errors import CancelledError, ModelError, OutOfMemoryError, RunError
from napari_onnxseg.runtime.session import open_session, release

RNG_SEED = 7


def pixels(*shape):
    return np.random.default_rng(RNG_SEED).random(shape, np.float32)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("out_layout", ["NCHW", "NHWC"])
def test_channels_come_first_whatever_the_layout(made, layout, out_layout):
    card = made(nets.echo, channels=3, layout=layout, out_layout=out_layout)
    batch = pixels(2, 3, 5, 7)
    assert np.array_equal(open_session(card).run(batch), batch)


@pytest.mark.parametrize("layout", ["NCDHW", "NDHWC"])
def test_volumes_are_run_alike(made, layout):
    card = made(nets.echo, channels=2, layout=layout, sides=(None,) * 3)
    batch = pixels(1, 2, 3, 4, 5)
    assert np.array_equal(open_session(card).run(batch), batch)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("given", [np.uint8, np.float64])
def test_a_batch_is_cast_to_what_the_graph_wants(made, dtype, given):
    session = open_session(made(nets.echo, dtype=dtype))
    values = np.arange(256).reshape(1, 1, 16, 16).astype(given)
    scores = session.run(values)
    assert scores.dtype == np.float32
    assert np.array_equal(scores, values)


def test_values_beyond_a_byte_are_rounded_and_cut(made):
    session = open_session(made(nets.echo, dtype="uint8"))
    values = np.array([-3.0, 0.4, 0.6, 254.6, 300.0]).reshape(1, 1, 1, 5)
    assert session.run(values).ravel().tolist() == [0, 0, 1, 255, 255]


@pytest.mark.parametrize("keepdims", [False, True])
def test_class_ids_have_one_channel(made, keepdims):
    session = open_session(made(nets.arg_max, keepdims=keepdims))
    scores = session.run(np.array([0.1, 0.5, 0.9]).reshape(1, 1, 1, 3))
    assert scores.shape == (1, 1, 1, 3)
    assert scores.ravel().tolist() == [0, 1, 2]


@pytest.mark.parametrize("batch", [1, 4, None])
def test_a_fixed_batch_is_filled_and_trimmed(made, batch):
    batches = pixels(13, 1, 6, 6)
    assert np.array_equal(open_session(made(nets.echo, batch=batch)).run(batches), batches)


def test_only_the_chosen_output_is_returned(made):
    card = made(nets.saliency, side=16)
    grey = np.full((1, 3, 16, 16), 0.6, np.float32)
    expected = 1 / (1 + np.exp(-20 * 0.1))
    assert np.allclose(open_session(card).run(grey), expected, atol=1e-5)


def test_warming_up_tells_the_shape_of_the_scores(made):
    assert open_session(made(nets.shrink)).start().shapes((1, 1, 64, 64)) == ((1, 2, 48, 48),)
    double = open_session(made(nets.double_resolution)).start()
    assert double.shapes((1, 1, 8, 9)) == ((1, 2, 16, 18),)


def test_a_session_is_kept_until_it_is_released(made):
    card = made(nets.two_class)
    session = open_session(card, "cpu")
    assert open_session(card, "cpu") is session
    assert open_session(card, "cpu", threads=2) is not session
    release(card.sha256)
    assert session.closed
    assert open_session(card, "cpu") is not session


def test_other_models_stay_when_one_is_released(made):
    one, other = made(nets.two_class), made(nets.box)
    kept = open_session(other)
    open_session(one)
    release(one.sha256)
    assert open_session(other) is kept


def test_a_released_session_says_so(made):
    session = open_session(made(nets.two_class))
    release()
    with pytest.raises(RunError, match="'two_class' was released; load it again"):
        session.run(pixels(1, 1, 4, 4))


def test_nothing_holds_a_released_session(made):
    card = made(nets.unet)
    dead = []
    for _ in range(3):
        session = open_session(card)
        with session.start() as run:
            run(pixels(1, 1, 16, 16))
        dead.append(weakref.ref(session))
        del session, run
        release(card.sha256)
    gc.collect()
    assert [reference() for reference in dead] == [None] * 3


def test_two_threads_open_one_session(made):
    card = made(nets.unet)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: open_session(card), range(8)))
    assert len(set(map(id, opened))) == 1


@pytest.mark.parametrize("batch", [None, 4])
def test_threads_share_a_session_without_mixing_answers(made, batch):
    session = open_session(made(nets.unet, batch=batch))
    inputs = [np.random.default_rng(i).random((3, 1, 32, 32), np.float32) for i in range(12)]
    expected = [session.run(x) for x in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            answers = list(pool.map(session.run, inputs))
            assert all(np.array_equal(a, b) for a, b in zip(answers, expected, strict=True))


def test_a_run_in_native_code_is_stopped_from_another_thread(made):
    session = open_session(made(nets.slow, layers=1500))
    batch = np.zeros((1, 1, 64, 64), np.float32)
    with session.start() as run:
        timer = threading.Timer(0.05, run.stop)
        timer.start()
        begun = time.perf_counter()
        with pytest.raises(CancelledError, match="cancelled"):
            run(batch)
        assert time.perf_counter() - begun < 1
        timer.join()
        with pytest.raises(CancelledError):
            run(batch)


def test_a_session_works_after_a_stop(made):
    session = open_session(made(nets.unet))
    batch = pixels(1, 1, 16, 16)
    expected = session.run(batch)
    with session.start() as run:
        run.stop()
        with pytest.raises(CancelledError):
            run(batch)
    with session.start() as again:
        assert np.array_equal(again(batch), expected)


def test_leaving_a_series_stops_it(made):
    with open_session(made(nets.two_class)).start() as run:
        assert not run.stopped
    assert run.stopped


def test_after_running_out_of_memory_the_next_session_is_fresh(made, monkeypatch):
    card = made(nets.two_class)
    monkeypatch.setattr(ort, "InferenceSession", stand_ins.OutOfMemory)
    monkeypatch.setattr(stand_ins.OutOfMemory, "count", 0)
    session = open_session(card, "cpu")
    tile = pixels(1, 1, 8, 8)
    session.run(tile)
    session.run(tile)
    with pytest.raises(OutOfMemoryError, match="choose a smaller tile or batch") as caught:
        session.run(tile)
    assert isinstance(caught.value, MemoryError)
    again = open_session(card, "cpu")
    assert again is not session
    assert again.run(tile).shape == (1, 2, 8, 8)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 1, 40, 40), r"failed in one of its operators \(Concat\)"),
        ((1, 3, 48, 48), "axis 1 needs 1, got 3"),
        ((1, 1, 4, 48, 48), "takes an array of 4 axes, got 5"),
    ],
)
def test_a_wrong_size_is_told_in_one_sentence(made, shape, message):
    session = open_session(made(nets.unet, depth=4))
    with pytest.raises(RunError, match=message) as caught:
        session.run(np.zeros(shape, np.float32))
    assert "\n" not in str(caught.value)
    assert session.run(pixels(1, 1, 48, 48)).shape == (1, 3, 48, 48)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: setattr(model, "ir_version", 99), r"file format version 99.*up to \d+"),
        (
            lambda model: setattr(model.opset_import[0], "version", 99),
            r"operator set 99.*up to \d+; upgrade onnxruntime",
        ),
        (lambda model: setattr(model.graph.node[0], "op_type", "Magic"), "uses 'Magic'"),
    ],
)
def test_a_model_too_new_names_both_versions_and_others_stay_usable(made, change, message):
    card = made(nets.two_class)
    kept = open_session(made(nets.box))
    model = onnx.load(card.path)
    change(model)
    newer = card.path.with_name("newer.onnx")
    newer.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=message):
        open_session(load_card(newer))
    assert kept.run(pixels(1, 1, 9, 9)).shape == (1, 1, 9, 9)


def test_weights_in_a_side_file_are_found_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    path = nets.box(tmp_path / "a" / "net.onnx", radius=1)
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
    monkeypatch.chdir(tmp_path / "b")
    for name in (path, "../a/net.onnx"):
        release()
        assert open_session(load_card(name)).run(np.ones((1, 1, 3, 3)))[
            0, 0, 1, 1
        ] == pytest.approx(1)
    (tmp_path / "a" / "net.data").unlink()
    release()
    with pytest.raises(ModelError, match=r"net\.data"):
        open_session(load_card(path))


def test_replaced_weights_beside_the_same_graph_are_loaded_anew(tmp_path):
    def exported(seed):
        model = onnx.load(nets.unet(tmp_path / "plain.onnx", seed=seed))
        path = tmp_path / "model.onnx"
        (tmp_path / "model.data").unlink(missing_ok=True)
        onnx.save(model, path, save_as_external_data=True, location="model.data", size_threshold=0)
        return load_card(path)

    batch = pixels(1, 1, 16, 16)
    first = exported(1)
    open_session(first).run(batch)
    second = exported(2)
    assert first.sha256 == second.sha256
    anew = open_session(second).run(batch)
    assert np.array_equal(anew, open_session(load_card(tmp_path / "plain.onnx")).run(batch))


def test_a_replaced_model_is_not_kept_in_memory(tmp_path):
    path = tmp_path / "model.onnx"
    old = weakref.ref(open_session(load_card(nets.unet(path, seed=1))))
    open_session(load_card(nets.unet(path, seed=2)))
    gc.collect()
    assert old() is None
