"""What holds for every operation, whatever it does."""

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from napari_onnxseg.correct import operations as ops
from napari_onnxseg.correct.operations import Scope
from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.tiling.region import Region

fixed = settings(derandomize=True, deadline=None, max_examples=12)
SHAPES = {2: (36, 44), 3: (6, 24, 28)}
CLASSES = 4


def blobs(seed, ndim):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(CLASSES, *SHAPES[ndim]))
    smooth = ndimage.gaussian_filter(noise, (0, *(1.5,) * ndim))
    smooth[0] += 0.05
    labels = smooth.argmax(0).astype(np.uint8)
    labels[rng.random(labels.shape) < 0.02] = 0
    return labels


def pixels(labels, scope, count, seed):
    """Return pixels of pieces inside the region."""
    region = scope.within(labels.shape)
    found = np.argwhere(labels[region.slices] > 0) + region.start
    picked = np.random.default_rng(seed).permutation(len(found))[:count]
    return [tuple(map(int, point)) for point in found[picked]]


def merged(labels, scope):
    points = pixels(labels, scope, 2, 1)
    if len(points) < 2:
        return ops.delete(labels, Scope(Region((0,) * labels.ndim, (0,) * labels.ndim)))
    return ops.merge(labels, *points, scope, bridge=4)


def snapped(labels, scope):
    region = scope.within(labels.shape)
    rng = np.random.default_rng(3)
    stroke = ndimage.gaussian_filter(rng.normal(size=region.shape), 2) > 0.1
    image = ndimage.gaussian_filter(rng.normal(size=region.shape), 2)
    return ops.snap(labels, image, stroke, 2, scope, reach=3)


ANYWHERE = {
    "delete": ops.delete,
    "delete_at": lambda x, s: ops.delete_at(x, pixels(x, s, 3, 0), s),
    "relabel": lambda x, s: ops.relabel(x, {1: 2, 2: 3, 3: 0, 0: 9}, s),
    "remove_small": lambda x, s: ops.remove_small(x, 30, s),
    "keep_largest": ops.keep_largest,
    "fill_holes": ops.fill_holes,
    "smooth": lambda x, s: ops.smooth(x, 3, s),
    "grow": lambda x, s: ops.grow(x, 2, s),
    "shrink": lambda x, s: ops.shrink(x, 1, s),
    "split_touching": lambda x, s: ops.split_touching(x, 4, s),
    "split_touching with a gap": lambda x, s: ops.split_touching(x, 4, s, gap=True),
    "split_along": lambda x, s: ops.split_along(x, [(2, 1), (17, 26), (3, 20)], s),
    "split_along with a gap": lambda x, s: ops.split_along(x, [(2, 1), (22, 26)], s, gap=True),
    "merge": merged,
    "snap": snapped,
}
PLANES = {
    "copy_plane": lambda x, s: ops.copy_plane(x, 1, 3, s),
    "copy_plane over": lambda x, s: ops.copy_plane(x, 4, -4, s, over=True),
    "fill_between": lambda x, s: ops.fill_between(x, 0, 4, s),
}
IDEMPOTENT = (
    "delete",
    "remove_small",
    "keep_largest",
    "fill_holes",
    "copy_plane",
    "copy_plane over",
    "fill_between",
)
CASES = [
    *((name, ndim) for name in ANYWHERE for ndim in (2, 3)),
    *((name, 3) for name in PLANES),
]


@st.composite
def scopes(draw, ndim):
    shape = SHAPES[ndim]
    start = [draw(st.integers(0, n // 2)) for n in shape]
    stop = [draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True)]
    region = draw(st.sampled_from([None, Region(tuple(start), tuple(stop))]))
    inside = shape if region is None else region.shape
    mask = None
    if draw(st.booleans()):
        mask = np.random.default_rng(draw(st.integers(0, 99))).random(inside) < 0.7
    selection = draw(st.sampled_from([None, (1,), (2, 3)]))
    locked = draw(st.sampled_from([(), (2,), (0,), (1, 3)]))
    scale = draw(st.sampled_from([None, (0.5,) * ndim, (2.0,) + (1.0,) * (ndim - 1)]))
    return Scope(region, mask, selection, locked, scale)


def in_scope(labels, scope):
    """Return where pixels may change, planes apart."""
    inside = np.zeros(labels.shape, bool)
    region = scope.within(labels.shape)
    inside[region.slices] = True if scope.mask is None else scope.mask
    return inside


@pytest.mark.parametrize(("name", "ndim"), CASES)
@fixed
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_an_operation_changes_what_its_scope_allows_and_undo_is_exact(name, ndim, data, seed):
    labels, scope = blobs(seed, ndim), data.draw(scopes(ndim))
    before = labels.copy()
    edit = {**ANYWHERE, **PLANES}[name](labels, scope)
    np.testing.assert_array_equal(labels, before)
    edit.apply(labels)
    changed = labels != before
    assert len(edit) == changed.sum()
    np.testing.assert_array_equal(np.stack(edit.indices), np.stack(np.nonzero(changed)))
    np.testing.assert_array_equal(edit.values, labels[changed])
    if name in ANYWHERE:
        assert not (changed & ~in_scope(before, scope)).any()
    for label in scope.locked:
        np.testing.assert_array_equal(labels == label, before == label)
    if scope.selection is not None:
        touched = np.isin(before, scope.selection) | np.isin(labels, scope.selection)
        assert touched[changed].all()
    edit.undo(labels)
    np.testing.assert_array_equal(labels, before)


@pytest.mark.parametrize(("name", "ndim"), [case for case in CASES if case[0] in IDEMPOTENT])
@fixed
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_doing_it_again_changes_nothing(name, ndim, data, seed):
    labels, scope = blobs(seed, ndim), data.draw(scopes(ndim))
    operation = {**ANYWHERE, **PLANES}[name]
    if name in ("keep_largest", "remove_small") and scope.mask is not None:
        scope = Scope(scope.region, None, scope.selection, scope.locked, scope.scale)
    operation(labels, scope).apply(labels)
    assert len(operation(labels, scope)) == 0


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("name", ["smooth", "grow", "shrink", "delete", "relabel"])
@fixed
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_a_region_gets_what_it_gets_in_the_whole_image(name, ndim, data, seed):
    labels = (blobs(seed, ndim) > 1).astype(np.uint8)
    scope = data.draw(scopes(ndim).filter(lambda s: s.region and min(s.region.shape) > 1))
    here, everywhere = labels.copy(), labels.copy()
    ANYWHERE[name](labels, scope).apply(here)
    ANYWHERE[name](labels, Scope(scale=scope.scale, selection=scope.selection)).apply(everywhere)
    allowed = in_scope(labels, scope) & ~np.isin(labels, scope.locked)
    allowed &= ~np.isin(everywhere, scope.locked)
    if name == "grow" and set(scope.locked) & {1}:
        return
    np.testing.assert_array_equal(here[allowed], everywhere[allowed])


IN_A_PLANE = [name for name in ANYWHERE if name not in ("merge", "delete_at")]


@pytest.mark.parametrize("name", IN_A_PLANE)
@fixed
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_a_plane_of_a_stack_gets_what_it_gets_alone(name, data, seed):
    flat, stack = blobs(seed, 2), np.stack([blobs(seed + n, 2) for n in range(3)])
    flat[0, 0] = 3  # the highest id, on which new ones depend
    stack[1] = flat
    scope = data.draw(scopes(2))
    inside = scope.within(flat.shape)
    plane = Scope(
        Region((1, *inside.start), (2, *inside.stop)),
        None if scope.mask is None else scope.mask[None],
        scope.selection,
        scope.locked,
        None if scope.scale is None else (7.0, *scope.scale),
    )
    if name == "remove_small" and plane.scale:
        plane = Scope(plane.region, plane.mask, plane.selection, plane.locked, (1.0, *scope.scale))
    before = stack.copy()
    ANYWHERE[name](flat, scope).apply(flat)
    ANYWHERE[name](stack, plane).apply(stack)
    np.testing.assert_array_equal(stack[1], flat)
    np.testing.assert_array_equal(stack[::2], before[::2])


@pytest.mark.parametrize("name", ["smooth", "fill_holes", "remove_small", "split_touching"])
def test_the_planes_of_a_film_are_worked_on_one_by_one(name):
    film = np.stack([blobs(n, 2) for n in range(4)])[:, None]
    scope = Scope(Region((1, 0, 0, 0), (3, 1, 36, 44)), scale=(9, 9, 1, 1), locked=(2,))
    if name == "remove_small":
        scope = Scope(scope.region, locked=(2,))
    step = ops.by_planes(film, scope, ANYWHERE[name])
    mended = film.copy()
    step.apply(mended)
    first_id = film.max() + 1
    for frame in range(4):
        expected = film[frame, 0].copy()
        if 1 <= frame < 3:
            if name == "split_touching":
                edit = ops.split_touching(expected, 4, Scope(locked=(2,)), first_id=int(first_id))
            else:
                edit = ANYWHERE[name](expected, Scope(locked=(2,)))
            edit.apply(expected)
        np.testing.assert_array_equal(mended[frame, 0], expected)
    step.undo(mended)
    np.testing.assert_array_equal(mended, film)


@pytest.mark.parametrize("name", ["remove_small", "smooth", "split_touching", "fill_holes"])
def test_labels_in_a_zarr_store_give_the_same_and_can_be_undone(name):
    labels = blobs(4, 2)
    labels[8:13, 8:13] = 1
    labels[10, 10] = 0
    store = zarr.create_array({}, shape=labels.shape, chunks=(16, 16), dtype="uint8")
    store[:] = labels
    scope = Scope(Region((3, 4), (30, 40)), locked=(2,))
    edit = ANYWHERE[name](store, scope)
    edit.apply(store)
    expected = labels.copy()
    ANYWHERE[name](labels, scope).apply(expected)
    assert len(edit)
    np.testing.assert_array_equal(store[:], expected)
    edit.undo(store)
    np.testing.assert_array_equal(store[:], labels)


@fixed
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_an_edit_holds_what_differs_whether_little_or_much(seed, share):
    rng = np.random.default_rng(seed)
    old = rng.integers(0, 5, (20, 30)).astype(np.uint16)
    new = np.where(rng.random(old.shape) < share**3, rng.integers(0, 5, old.shape), old)
    edit = ops.Edit.of(Region((100, 200), (120, 230)), old, new.astype(np.uint16))
    image = np.zeros((150, 300), np.uint16)
    image[100:120, 200:230] = old
    before = image.copy()
    edit.apply(image)
    np.testing.assert_array_equal(image[100:120, 200:230], new)
    edit.undo(image)
    np.testing.assert_array_equal(image, before)


def test_a_small_edit_of_a_large_image_is_small():
    old = np.zeros((2000, 2000), np.uint8)
    new = old.copy()
    new[5, 7] = new[1900, 1800] = 3
    edit = ops.Edit.of(Region.of_shape(old.shape), old, new)
    assert edit.where.nbytes + edit.old.nbytes + edit.new.nbytes < 20


def test_steps_are_undone_in_reverse():
    labels = np.zeros((5, 5), np.uint8)
    first = ops.Edit.of(Region.of_shape((5, 5)), labels, labels + 1)
    second = ops.Edit.of(Region.of_shape((5, 5)), labels + 1, labels + 2)
    step = ops.Step.of([first, ops.delete(labels), second])
    assert (len(step.edits), len(step)) == (2, 50)
    step.apply(labels)
    assert (labels == 2).all()
    step.undo(labels)
    assert (labels == 0).all()


def test_scopes_that_do_not_fit_are_refused():
    labels = np.zeros((20, 20), np.uint8)
    with pytest.raises(ChoiceError, match="3 axes does not fit"):
        ops.delete(labels, Scope(Region((0, 0, 0), (1, 1, 1))))
    with pytest.raises(ChoiceError, match="mask of"):
        ops.delete(labels, Scope(mask=np.zeros((3, 3), bool)))
    with pytest.raises(ChoiceError, match="scale"):
        ops.grow(labels, 1, Scope(scale=(1, 1, 1)))
    big = np.broadcast_to(np.uint8(0), (20_000, 20_000))
    with pytest.raises(ChoiceError, match="too large for one step"):
        ops.smooth(big, 2)
    assert len(ops.smooth(big, 2, Scope(Region((5, 5), (50, 50))))) == 0
