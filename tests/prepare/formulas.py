"""What the specification says of each step, written down once more, and chains to try."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from napari_onnxseg.prepare.chain import Seen, settle_steps
from napari_onnxseg.prepare.channels import map_channels
from napari_onnxseg.prepare.feed import Feeder
from napari_onnxseg.prepare.stages import apply_stages
from napari_onnxseg.prepare.steps import Step

PER_CHANNEL, TOGETHER = (1, 2), None
"""The axes that are reduced."""


def bands(image, rows=3):
    return lambda: (image[:, y : y + rows] for y in range(0, image.shape[1], rows))


def fed(image, steps, channels=None, *, nodata=None, dtype="float32", rows=3):
    """Settle a chain for an image and return what the network is given."""
    channels = channels or map_channels(len(image), len(image))
    count = channels.model_channels
    settled = settle_steps(steps, Seen(bands(image, rows), channels, nodata), count=count)
    affine, stages = settled.line(count)
    out = np.full((count, *image.shape[1:]), 99, dtype)
    Feeder(channels, affine, nodata, dtype, stages).fill(image, out)
    return out


def after(values, steps, *, reference=None, rows=3):
    """Settle a chain for the output of a network and return it changed."""
    raw = values.astype(np.float32)
    blocks = None if reference is None else Seen(bands(reference))
    settled = settle_steps(steps, Seen(bands(raw, rows)), count=len(raw), reference=blocks)
    for y in range(0, raw.shape[1], rows):
        apply_stages(raw[:, y : y + rows], settled.stages)
    return raw, settled


def axes_of(step):
    return PER_CHANNEL if step.per_channel else TOGETHER


def each(values):
    """One number for all, or one a channel, against (C, Y, X)."""
    return np.reshape(values, (-1, 1, 1))


def fixed_by_the_text(x, step):
    """Return what the specification says of operations that measure nothing, in float64."""
    powers = np.exp(x - x.max(0))
    return {
        "scale_linear": lambda: x * each(step.gain) + each(step.offset),
        "standardize": lambda: (x - each(step.mean)) / each(step.std),
        "binarize": lambda: (x > each(step.threshold)).astype(float),
        "sigmoid": lambda: 1 / (1 + np.exp(-x)),
        "softmax": lambda: powers / powers.sum(0),
        "cast": lambda: x.astype(step.dtype).astype(float),
    }[step.op]()


def clipped_by_the_text(x, step):
    """Return what the specification says of clipping."""
    low, high = step.low, step.high
    if step.low_percentile is not None:
        low = np.percentile(x, step.low_percentile, axes_of(step), keepdims=True)
    if step.high_percentile is not None:
        high = np.percentile(x, step.high_percentile, axes_of(step), keepdims=True)
    return np.clip(x, low, high)


def by_the_text(x, step, before):
    """Return what the specification says a step does; ``before`` is the raw input."""
    if not step.needs_statistics and step.op != "clip":
        return fixed_by_the_text(x, step)
    if step.op == "clip":
        return clipped_by_the_text(x, step)
    axes, of = axes_of(step), before if step.reference else x
    if step.op == "scale_range":
        percents = step.low_percentile or 0, step.high_percentile or 100
        low, high = (np.percentile(of, p, axes, keepdims=True) for p in percents)
        return (x - low) / (high - low + step.eps)
    unit = (x - x.mean(axes, keepdims=True)) / (x.std(axes, keepdims=True) + step.eps)
    if step.op == "zero_mean_unit_variance":
        return unit
    return unit * (of.std(axes, keepdims=True) + step.eps) + of.mean(axes, keepdims=True)


def expected(image, steps):
    x = before = image.astype(np.float64)
    for step in steps:
        x = by_the_text(x, step, before)
    return x


def noise(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.3
    spread = {"u1": 200, "u2": 4000}.get(kind.str[1:], 90)
    values = rng.gamma(2, spread / 6, shape) * each(np.arange(1, len(np.zeros(shape)) + 1))
    return np.clip(values, 0, 250 if kind.itemsize == 1 else 60_000).astype(kind)


ONE_STEP = [
    Step("scale_linear", gain=1 / 255, offset=-0.5),
    Step("scale_linear", gain=(2, -3), offset=(1, 0)),
    Step("standardize", mean=(10, 20), std=(3, 5)),
    Step("binarize", threshold=(20, 30.5)),
    Step("clip", low=10, high=30.5),
    Step("clip", high=25),
    Step("clip", low_percentile=5, high_percentile=80, per_channel=True),
    Step("clip", low=7, high_percentile=80),
    Step("sigmoid"),
    Step("softmax"),
    Step("cast", dtype="float32"),
    Step("cast", dtype="uint8"),
    Step("cast", dtype="bool"),
    Step("zero_mean_unit_variance"),
    Step("zero_mean_unit_variance", per_channel=True, eps=0.5),
    Step("scale_range"),
    Step("scale_range", per_channel=True, low_percentile=1, high_percentile=99.8, eps=0.25),
    Step("scale_mean_variance", reference="input", per_channel=True, eps=0.1),
]


CHAINS = [
    (Step("scale_range", per_channel=True, high_percentile=99), Step("zero_mean_unit_variance")),
    (Step("zero_mean_unit_variance"), Step("scale_range", low_percentile=2, per_channel=True)),
    (
        Step("scale_linear", gain=-0.5, offset=3),
        Step("scale_range", low_percentile=3, high_percentile=70),
        Step("clip", low=0, high=1),
    ),
    (
        Step("scale_linear", gain=(-1, 2)),
        Step("clip", low_percentile=10, high_percentile=70, per_channel=True),
        Step("zero_mean_unit_variance", eps=1e-3),
    ),
    (
        Step("clip", low_percentile=0.5, high_percentile=99.5),
        Step("standardize", mean=20, std=4),
        Step("scale_range", high_percentile=90),
    ),
    (
        Step("standardize", mean=(1, 30), std=(2, 5)),
        Step("scale_range", low_percentile=5, high_percentile=95),
        Step("sigmoid"),
        Step("zero_mean_unit_variance", per_channel=True),
    ),
    (
        Step("cast", dtype="float32"),
        Step("softmax"),
        Step("scale_range", high_percentile=99.5),
        Step("cast", dtype="float32"),
    ),
    (
        Step("clip", low=5, high=60),
        Step("scale_range", reference="input", low_percentile=10, high_percentile=60),
        Step("scale_mean_variance", reference="input"),
    ),
    (Step("binarize", threshold=15), Step("zero_mean_unit_variance")),
]


STEPS = st.one_of(
    st.builds(
        Step,
        st.just("scale_linear"),
        gain=st.sampled_from([(0.5,), (-2.0,), (1.0, -1.5)]),
        offset=st.sampled_from([(0.0,), (3.0, -1.0)]),
    ),
    st.builds(
        Step,
        st.sampled_from(["zero_mean_unit_variance", "scale_range"]),
        per_channel=st.booleans(),
        eps=st.sampled_from([1e-6, 0.1]),
    ),
    st.builds(
        Step,
        st.just("clip"),
        low_percentile=st.sampled_from([1.0, 10.0]),
        high_percentile=st.sampled_from([None, 80.0]),
        per_channel=st.booleans(),
    ),
    st.sampled_from([Step("sigmoid"), Step("softmax"), Step("cast", dtype="float32")]),
)
