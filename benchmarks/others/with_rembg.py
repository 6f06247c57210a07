"""Background removal: rembg and us, and its habits taken away one by one."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from asking import ask
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from PIL import Image
from rows import Gap, Row, gap, opened

from napari_onnxseg.pipeline.matting import matte_image
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.resample import enlarge_rows, shrink_to

PUBLISHED_MD5 = "8e83ca70e441ab06c318d82300c84806"
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
HALF = ((0.5, 0.5, 0.5), (1.0, 1.0, 1.0))
MEAN_ONLY = (IMAGENET[0], (1.0, 1.0, 1.0))


@dataclass(frozen=True)
class Known:
    """A published name: what rembg calls it, and what it does with it."""

    file: str
    session: str
    side: int
    mean_std: tuple[Any, Any]
    logits: bool = False


KNOWN = (
    Known("u2net", "u2net", 320, IMAGENET),
    Known("u2net_human_seg", "u2net_human_seg", 320, IMAGENET),
    Known("silueta", "silueta", 320, IMAGENET),
    Known("isnet-general-use", "isnet-general-use", 1024, HALF),
    Known("isnet-anime", "isnet-anime", 1024, MEAN_ONLY),
    Known("BiRefNet-general-epoch_244", "birefnet-general", 1024, IMAGENET, True),
    Known(
        "BiRefNet-general-bb_swin_v1_tiny-epoch_232", "birefnet-general-lite", 1024, IMAGENET, True
    ),
    Known("BiRefNet-portrait-epoch_150", "birefnet-portrait", 1024, IMAGENET, True),
    Known("BiRefNet-DIS-epoch_590", "birefnet-dis", 1024, IMAGENET, True),
    Known("BiRefNet-HRSOD_DHU-epoch_115", "birefnet-hrsod", 1024, IMAGENET, True),
    Known("BiRefNet-COD-epoch_125", "birefnet-cod", 1024, IMAGENET, True),
    Known("BiRefNet-massive-TR_DIS5K_TR_TEs-epoch_420", "birefnet-massive", 1024, IMAGENET, True),
    Known("bria-rmbg-2.0", "bria-rmbg", 1024, IMAGENET),
)


def published(python: Path, network: Path, pictures: list[Path], folder: Path) -> list[Row]:
    """Compare U²-Net small on photographs, as it comes and habit by habit."""
    home = folder / "home"
    home.mkdir(parents=True)
    model = Path(shutil.copy(network, home / "u2netp.onnx"))
    return [_photograph(python, model, path, folder / path.stem) for path in pictures]


def _photograph(python: Path, model: Path, path: Path, folder: Path) -> Row:
    """Compare one picture."""
    picture = np.asarray(Image.open(path).convert("RGB"))
    answer, theirs = _rembg(python, "u2netp", model.parent, picture, folder)
    expected = _expected(Known("u2netp", "u2netp", 320, IMAGENET))
    _, read = opened(model, {**expected, "side": None})  # the graph has a side of its own
    ours = matte_image(picture, model, rgb=True, device="cpu").rgba[..., 3]
    steps = [gap("as both come", ours, theirs["mask"][0])]
    steps += _ladder(model, picture, ours, theirs["fed"])
    return Row(
        format="names of published cut-out networks",
        example=f"u2netp.onnx, {_whose(model)}",
        tool=answer["tool"],
        image=f"{path.name}, {picture.shape[1]} × {picture.shape[0]} px",
        unit="alpha levels of 255",
        gaps=tuple(steps),
        words="rembg stretches each mask from its minimum to its maximum, rounds it down to "
        "8 bits at 320 px and enlarges that with LANCZOS; before, it shrinks the picture with "
        "LANCZOS in 8 bits and divides by its brightest value.",
        **read,
    )


def _whose(model: Path) -> str:
    """Tell whether this is the file that rembg publishes."""
    published = hashlib.md5(model.read_bytes()).hexdigest() == PUBLISHED_MD5
    return "as rembg publishes it" if published else "exported anew"


def _ladder(
    model: Path, picture: NDArray[np.uint8], ours: NDArray[np.uint8], fed: NDArray[np.float32]
) -> list[Gap]:
    """Replace one habit of rembg after another by ours."""
    shape, side = picture.shape[:2], fed.shape[2:]
    mean, std = (np.array(values, np.float32)[:, None, None] for values in IMAGENET)
    run = _network(model)
    raw = run(fed)
    small = _unit(np.asarray(Image.fromarray(picture).resize(side[::-1], Image.Resampling.LANCZOS)))
    by_range = run(((small - mean) / std)[None])
    planes = np.moveaxis(picture, -1, 0)
    triangle = shrink_to(lambda start, stop: planes[:, start:stop], shape, side) / np.float32(255)
    shrunk = run(((triangle - mean) / std)[None])
    steps = {
        "the mask not stretched": _enlarged_bytes(raw, shape),
        "kept in numbers instead of 8 bits, enlarged bilinearly": _alpha(raw, shape),
        "divided by 255 instead of the brightest value": _alpha(by_range, shape),
        "shrunk with a triangle filter in numbers instead of LANCZOS in 8 bits": _alpha(
            shrunk, shape
        ),
    }
    return [gap(what, ours, theirs) for what, theirs in steps.items()]


def _unit(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.moveaxis(picture, -1, 0).astype(np.float32) / np.float32(255)


def _enlarged_bytes(raw: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    mask = Image.fromarray((np.clip(raw, 0, 1) * 255).astype("uint8"), mode="L")
    return np.asarray(mask.resize(shape[::-1], Image.Resampling.LANCZOS))


def _alpha(raw: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    large = enlarge_rows(np.clip(raw, 0, 1), shape, slice(0, shape[0]))
    return np.rint(large * 255).astype(np.uint8)


def _network(model: Path) -> Any:
    """Return a bare run of a network: (1, C, h, w) to the first map of the first output."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda batch: session.run(None, {name: np.ascontiguousarray(batch, np.float32)})[0][0, 0]


def names(python: Path, folder: Path) -> list[Row]:
    """Compare what each network of the table is fed, on a picture that needs no resizing."""
    rows = [_name(python, known, folder / known.file) for known in KNOWN]
    worst = max((row.gaps[0] for row in rows), key=lambda found: found.largest)
    wrong = {f"{row.example}, {name}": told for row in rows for name, told in row.wrong.items()}
    return [
        replace(
            rows[0],
            example=f"{len(rows)} names ({', '.join(known.file for known in KNOWN)}) on a "
            "stand-in network",
            image="noise of the size the network takes",
            opens=all(row.opens for row in rows),
            facts=sum(row.facts for row in rows),
            wrong=wrong,
            gaps=(worst,),
            words="What the network is fed; the weights were not at hand.",
        )
    ]


def _name(python: Path, known: Known, folder: Path) -> Row:
    """Compare one name, with a small network under it."""
    folder.mkdir(parents=True)
    model = stand_in(folder / f"{known.file}.onnx", known.side)
    home = folder / "models" / known.session
    home.mkdir(parents=True)
    shutil.copy(model, home / f"{known.session}.onnx")
    shutil.copy(model, home / model.name)
    picture = np.random.default_rng(3).integers(0, 256, (known.side, known.side, 3), np.uint8)
    picture[0, 0] = 255
    answer, theirs = _rembg(python, known.session, folder, picture, folder / "exchange")
    _, read = opened(model, _expected(known))
    fed: list[Any] = []
    raw = theirs["raw"]
    matte_image(picture, model, rgb=True, device="cpu", predictor=partial(_recorded, fed, raw))
    return Row(
        format="names of published cut-out networks",
        example=f"{known.file}.onnx, the name on a stand-in network",
        tool=answer["tool"],
        image=f"noise, {known.side} × {known.side} px",
        unit="values fed to the network",
        gaps=(gap("as both come", fed[-1], theirs["fed"]),),
        **read,
    )


def _recorded(fed: list[Any], answer: Any, batch: Any) -> Any:
    """Stand in for a network: keep what it is fed, give a fixed answer."""
    fed.append(batch.copy())
    return answer


def _expected(known: Known) -> dict[str, Any]:
    mean, std = known.mean_std
    return {
        "task": "matting",
        "colour order": "RGB",
        "scores": "logits" if known.logits else "probabilities",
        "side": known.side,
        "intensities": Normalization("mean_std", mean=mean, std=std),
    }


def stand_in(path: Path, side: int) -> Path:
    """Write a network of one convolution, with free sides, under a published name."""
    weights = np.array([0.2, -0.1, 0.3], np.float32).reshape(1, 3, 1, 1)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["input", "w"], ["alpha"])],
        "stand-in",
        [helper.make_tensor_value_info("input", 1, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("alpha", 1, ["n", 1, "h", "w"])],
        [numpy_helper.from_array(weights, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)
    return path


def _rembg(
    python: Path,
    session: str,
    home: Path,
    picture: NDArray[np.uint8],
    folder: Path,
    rounds: int = 0,
) -> Any:
    """Ask rembg."""
    request = {
        "session": session,
        "home": home,
        "picture": picture,
        "threads": 1,
        "rounds": rounds,
    }
    return ask(python, "rembg_side", folder, request)
