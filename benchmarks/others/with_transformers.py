"""Networks exported from transformers with their JSON files: its image processor and us.

The processor is run where it is installed; the network itself runs in ONNX Runtime on both
sides, and scores are enlarged with Pillow as transformers enlarges them with torch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from asking import ask
from networks import CLASSES, HIGH, LOW, channels_first
from numpy.typing import NDArray
from pictures import mosaic
from PIL import Image
from rows import Row, gap, opened
from tiles import result

from napari_onnxseg.prepare.normalize import Normalization

SIDE = 512
PROCESSOR = {
    "image_processor_type": "SegformerImageProcessor",
    "do_resize": True,
    "size": {"height": SIDE, "width": SIDE},
    "resample": 2,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [LOW] * 3,
    "image_std": [HIGH - LOW] * 3,
    "do_reduce_labels": False,
}
FACTS = {
    "task": "semantic",
    "layout": "NCHW",
    "colour order": "RGB",
    "classes": list(CLASSES),
    "scores": "logits",
    "intensities": Normalization("mean_std", mean=(LOW,) * 3, std=(HIGH - LOW,) * 3),
}


def rows(python: Path, folder: Path) -> list[Row]:
    """Compare a network whose scores come at a quarter of the sides."""
    folder.mkdir(parents=True)
    model = channels_first(folder / "model.onnx", "quarter", None)
    (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    config = {
        "architectures": ["SegformerForSemanticSegmentation"],
        "model_type": "segformer",
        "id2label": dict(enumerate(CLASSES)),
    }
    (folder / "config.json").write_text(json.dumps(config))
    return [_compared(python, model, shape) for shape in ((SIDE, SIDE), (1000, 900))]


def _compared(python: Path, model: Path, shape: tuple[int, int]) -> Row:
    """Compare a picture; one of another size is squeezed by transformers."""
    picture = mosaic("nuclei-stained.png", *shape)
    exchange = model.parent / f"exchange-{shape[0]}"
    request = {"model": model.parent, "picture": picture}
    answer, theirs = ask(python, "transformers_side", exchange, request)
    _, read = opened(model, FACTS)
    scores = _scores(model, theirs["fed"])
    gaps = [gap("as both come", result(model, picture), _classes(scores, shape))]
    if shape != (SIDE, SIDE):
        squeezed = np.asarray(
            Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        )
        gaps.append(
            gap(
                "given the squeezed picture",
                result(model, squeezed),
                _classes(scores, (SIDE, SIDE)),
            )
        )
    return Row(
        format="Hugging Face JSON files",
        example="SegFormer-like, three classes at a quarter of the sides, made by us",
        tool=answer["tool"],
        image=f"nuclei-stained.png, mirrored to {shape[1]} × {shape[0]} px",
        gaps=tuple(gaps),
        **{
            "words": "transformers squeezes every picture into the square of its configuration; "
            "we keep its resolution and tile."
            if len(gaps) > 1
            else "",
            **read,
        },
    )


def _scores(model: Path, fed: NDArray[np.float32]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    scores: NDArray[np.float32] = session.run(None, {session.get_inputs()[0].name: fed})[0][0]
    return scores


def _classes(scores: NDArray[np.float32], shape: tuple[int, int]) -> NDArray[Any]:
    """Enlarge scores bilinearly and take the best."""
    size = shape[::-1]
    large = [np.asarray(Image.fromarray(s).resize(size, Image.Resampling.BILINEAR)) for s in scores]
    return np.stack(large).argmax(0)
