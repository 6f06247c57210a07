"""Runs where the ZEISS plugin and czmodel are installed: packs models, and predicts."""

import json
import shutil
import sys
import time
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
request = json.loads((folder / "request.json").read_text())
answer = {"tool": f"napari-czann-segment {version('napari-czann-segment')}"}


def pack():
    """Write a package as the exporter of ZEISS does."""
    from czmodel import LegacyModelMetadata, ModelMetadata, ModelType
    from czmodel.core.util.onnx_export import DefaultOnnxConverter, LegacyOnnxConverter

    told = dict(request["metadata"])
    if request["legacy"]:
        LegacyOnnxConverter().convert(
            request["network"], LegacyModelMetadata(**told), request["package"]
        )
    else:
        told["model_type"] = ModelType(told["model_type"])
        DefaultOnnxConverter().convert(
            request["network"], ModelMetadata(**told), request["package"]
        )
    answer["tool"] = f"czmodel {version('czmodel')}"


def sample():
    """Leave the model and the picture that the plugin brings along."""
    import czifile

    data = Path(str(files("napari_czann_segment"))) / "_data"
    picture = czifile.imread(str(data / "PGC_20X.czi"))
    np.save(folder / "out-picture.npy", np.squeeze(picture))
    shutil.copy(data / "PGC_20X_nucleus_detector.czseg", request["package"])


def predict():
    """Predict as the plugin does, and tell its tiles."""
    from cztile.fixed_total_area_strategy_2d import AlmostEqualBorderFixedTotalAreaStrategy2D
    from cztile.tiling_strategy import Region2D, TileInput
    from napari_czann_segment.predict import predict_ndarray

    picture = np.load(request["picture"])
    begin = time.perf_counter()
    told, found = predict_ndarray(request["package"], picture, **request["choices"])
    answer["seconds"] = time.perf_counter() - begin
    np.save(folder / "out-found.npy", np.asarray(found))
    border = told.min_overlap[0] // 2 if told.min_overlap is not None else 8
    height, width = picture.shape[:2]
    cut = AlmostEqualBorderFixedTotalAreaStrategy2D(
        width=TileInput(told.input_shape[0], min_border_length=border),
        height=TileInput(told.input_shape[1], min_border_length=border),
    )
    boxes = [
        [
            *(getattr(tile.roi, key) for key in "yxhw"),
            *(getattr(tile.center, key) for key in "yxhw"),
        ]
        for tile in cut.calculate_2d_tiles(region2d=Region2D(x=0, y=0, w=width, h=height))
    ]
    np.save(folder / "out-tiles.npy", np.array(boxes))


{"pack": pack, "sample": sample, "predict": predict}[request["do"]]()
(folder / "answer.json").write_text(json.dumps(answer))
