"""Packages of bioimage.io: bioimageio.core and us, on the whole picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from asking import ask
from networks import CLASSES, channels_first
from numpy.typing import NDArray
from packages import Plan, written
from pictures import mosaic
from rows import Gap, Row, gap, opened
from tiles import result
from with_formulas import fed

from napari_onnxseg.pipeline.proof import prove

SHAPE = (512, 704)
TEST = (64, 96)
SEMANTIC = {"task": "semantic", "layout": "NCHW", "channels": 3, "classes": list(CLASSES)}
ALL, EACH = ["channel", "y", "x"], ["y", "x"]
Z_SCORES = Plan(
    "z-scores of each channel, then scaled, softmax",
    "0.5",
    before=(
        {"id": "zero_mean_unit_variance", "kwargs": {"axes": EACH, "eps": 1e-6}},
        {"id": "scale_linear", "kwargs": {"gain": 0.25, "offset": 0.5}},
    ),
    after=({"id": "softmax", "kwargs": {"axis": "channel"}},),
    facts=SEMANTIC,
)
PLANS = (
    Plan(
        "percentiles of the image, clipped, softmax",
        "0.5",
        before=(
            {
                "id": "scale_range",
                "kwargs": {"axes": ALL, "min_percentile": 1, "max_percentile": 99.8},
            },
            {"id": "clip", "kwargs": {"min": 0, "max": 1}},
        ),
        after=({"id": "softmax", "kwargs": {"axis": "channel"}},),
        facts=SEMANTIC,
    ),
    Z_SCORES,
    Plan(
        "fixed mean and deviation of each channel, cut at a threshold",
        "0.5",
        1,
        before=(
            {
                "id": "fixed_zero_mean_unit_variance",
                "kwargs": {
                    "axis": "channel",
                    "mean": [120.0, 100.0, 140.0],
                    "std": [180.0, 190.0, 200.0],
                },
            },
        ),
        after=({"id": "binarize", "kwargs": {"threshold": 0.5}},),
        facts={"layout": "NCHW", "channels": 3},
    ),
    Plan(
        "percentiles of each channel, values in the range of the image",
        "0.5",
        1,
        before=(
            {
                "id": "scale_range",
                "kwargs": {"axes": EACH, "min_percentile": 5, "max_percentile": 95},
            },
        ),
        after=({"id": "scale_mean_variance", "kwargs": {"reference_tensor": "raw"}},),
        facts={"layout": "NCHW", "channels": 3},
    ),
    Plan(
        "percentiles per sample",
        "0.4",
        before=(
            {
                "name": "scale_range",
                "kwargs": {
                    "mode": "per_sample",
                    "axes": "cyx",
                    "min_percentile": 1.0,
                    "max_percentile": 99.8,
                },
            },
            {"name": "clip", "kwargs": {"min": 0.0, "max": 1.0}},
        ),
        facts={key: value for key, value in SEMANTIC.items() if key != "classes"},
    ),
    Plan(
        "z-scores per sample, sigmoid",
        "0.4",
        before=(
            {
                "name": "zero_mean_unit_variance",
                "kwargs": {"mode": "per_sample", "axes": "xy", "eps": 1e-6},
            },
        ),
        after=({"name": "sigmoid"},),
        facts={"layout": "NCHW", "channels": 3},
    ),
    Plan(
        "fixed mean and deviation",
        "0.4",
        before=(
            {
                "name": "zero_mean_unit_variance",
                "kwargs": {"mode": "fixed", "axes": "xy", "mean": [120.0, 100.0, 140.0],
                           "std": [180.0, 190.0, 200.0]},
            },
        ),
        facts={"layout": "NCHW", "channels": 3},
    ),
)  # fmt: skip


def rows(python: Path, folder: Path) -> list[Row]:
    """Compare all packages on one picture."""
    folder.mkdir(parents=True)
    picture = mosaic("nuclei-stained.png", *SHAPE)
    networks = {
        3: Path(channels_first(folder / "classes.onnx", "logits", None)),
        1: Path(channels_first(folder / "inside.onnx", "inside", None)),
    }
    return [
        _compared(python, plan, networks[plan.channels], picture, folder / f"package{number}")
        for number, plan in enumerate(PLANS)
    ]


def _compared(
    python: Path, plan: Plan, network: Path, picture: NDArray[np.uint8], folder: Path
) -> Row:
    """Compare what comes out, and what the network is fed."""
    package = _package(python, plan, network, picture, folder)
    answer, theirs = _core(python, package, picture, folder / "exchange", test=True)
    card, read = opened(package, plan.facts)
    tool, words = answer["tool"], ""
    if "failed" in answer:
        theirs = _by_formula(network, picture)
        del theirs["bare0"]
        words = f"{tool} fails on this operation ({answer['failed']})."
        tool = "numpy: the formula of the specification"
    elif plan.version == "0.4":
        del theirs["bare0"]
    else:
        words = "bioimageio.core mirrors the halo around the picture before the network sees it."
        words += " Its z-scores are summed in 32 bits." if plan is Z_SCORES else ""
    unit, gaps = (
        ("labels", ()) if card is None else _gaps(card.task, package, plan, picture, theirs)
    )
    tested = "not possible" if "failed" in answer else answer["test"]
    here = "" if card is None else f" and {_proven(package)} with onnxseg models test"
    return Row(
        format=f"bioimage.io {plan.version}",
        example=f"{plan.name}; made by us, its test {tested} in bioimageio.core{here}",
        tool=tool,
        image=f"nuclei-stained.png, mirrored to {SHAPE[1]} × {SHAPE[0]} px",
        unit=unit,
        gaps=gaps,
        **{"words": words, **read},
    )


def _proven(package: Path) -> str:
    """Run the test tensors of the package."""
    return "passed" if prove(package, device="cpu").ok else "failed"


def _gaps(
    task: str, package: Path, plan: Plan, picture: NDArray[np.uint8], theirs: Any
) -> tuple[str, tuple[Gap, ...]]:
    """Compare with the run as it comes, and with the one that adds nothing around the picture."""
    image = task == "image"
    ours = result(package, picture, "image" if image else "labels")
    ours = np.moveaxis(ours, 0, -1) if ours.ndim == 3 else ours
    gaps = [gap("as both come", ours, _answer(theirs["result0"][0], image))]
    if "bare0" in theirs:
        bare = _answer(theirs["bare0"][0], image)
        gaps.append(gap("nothing mirrored around the picture", ours, bare))
    into = fed(package, picture, plan.channels)[0]
    gaps.append(gap("what the network is fed", into, theirs["fed"][0], "values"))
    if plan is Z_SCORES:
        gaps += _beside_formula(into, theirs["fed"][0], picture)
    return "values" if image else "labels", tuple(gaps)


def _beside_formula(into: NDArray[Any], theirs: NDArray[Any], picture: NDArray[Any]) -> list[Gap]:
    """Compare z-scores of each channel with those of 64-bit arithmetic."""
    planes = np.moveaxis(picture, -1, 0).astype(np.float64)
    mean, std = (f(planes, axis=(1, 2), keepdims=True) for f in (np.mean, np.std))
    exact = (planes - mean) / (std + 1e-6) * 0.25 + 0.5
    return [
        gap("ours beside 64-bit arithmetic", into, exact, "values"),
        gap("bioimageio.core's beside 64-bit arithmetic", theirs, exact, "values"),
    ]


def _answer(scores: NDArray[Any], image: bool) -> NDArray[Any]:
    """Return values (Y, X) or (Y, X, C), or the class of each pixel."""
    if image:
        return np.squeeze(np.moveaxis(scores, 0, -1))
    return scores.argmax(0) if len(scores) > 1 else (scores[0] > 0.5).astype(int)


def _by_formula(network: Path, picture: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Do in numpy what bioimageio.core cannot: percentiles, the network, mean and variance."""
    planes = np.moveaxis(picture, -1, 0).astype(np.float64)
    low, high = (np.percentile(planes, q, axis=(1, 2), keepdims=True) for q in (5, 95))
    ready = ((planes - low) / (high - low + 1e-6))[None].astype(np.float32)
    session = onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"])
    scores = session.run(None, {session.get_inputs()[0].name: ready})[0].astype(np.float64)
    scaled = (scores - scores.mean()) / (scores.std() + 1e-6)
    found = scaled * (planes.std() + 1e-6) + planes.mean()
    return {"fed": ready, "result0": found, "bare0": found}


def _package(
    python: Path, plan: Plan, network: Path, picture: NDArray[np.uint8], folder: Path
) -> Path:
    """Write a package; what is to come out of its test is asked of bioimageio.core."""
    part = picture[: TEST[0], : TEST[1]]
    given = _tensor(part)
    if plan.version == "0.5":  # bioimageio.core casts what was prepared to the declared type
        given = given.astype(np.float32)
    blank = np.ones((1, plan.channels, *TEST), np.float32)
    draft = written(folder / "draft.zip", plan, network, (given, blank))
    answer, found = _core(python, draft, part, folder / "drafting", test=False)
    if "failed" in answer:
        found = _by_formula(network, part)
    return written(folder / "model.zip", plan, network, (given, found["bare0"]))


def _core(
    python: Path, package: Path, picture: NDArray[np.uint8], folder: Path, *, test: bool
) -> Any:
    """Ask bioimageio.core for a picture, in the type that the package declares."""
    tensor = _tensor(picture).astype(np.load(package.with_suffix("") / "given.npy").dtype)
    request = {"package": package, "tensor": tensor, "test": test}
    return ask(python, "bioimageio_side", folder, request)


def _tensor(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return (Y, X, 3) as (1, 3, Y, X)."""
    return np.ascontiguousarray(np.moveaxis(picture, -1, 0))[None]
