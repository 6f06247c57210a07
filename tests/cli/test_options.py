from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from napari_onnxseg.cli.files import CutOutFiles, Files
from napari_onnxseg.cli.options import OPTIONS, PYTHON_ONLY, with_choices
from napari_onnxseg.pipeline.job import MatteJob, SegmentJob
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.tiling.region import Region

EVERY_CHOICE = {
    "model": ("m", "m"),
    "device": ("cuda:1", "cuda:1"),
    "tile": ("192x320", (192, 320)),
    "halo": ("24x40", (24, 40)),
    "overlap": ("16", 16),
    "batch": ("4", 4),
    "workers": ("3", 3),
    "index": ("3,all", (3, None)),
    "channel_axis": ("-3", -3),
    "channels": ("2,0,1", (2, 0, 1)),
    "colour_order": ("bgr", "BGR"),
    "normalization": ("percentile:1,99", Normalization("percentile", low=1, high=99)),
    "statistics": ("plane", "plane"),
    "nodata": ("-9999", -9999.0),
    "pixel_size": ("0.25 um", "0.25 um"),
    "threshold": ("0.3", 0.3),
    "heads": ("mask", ("mask",)),
    "region": ("100:400,200:700", Region((100, 200), (400, 700))),
    "feather_px": ("3", 3.0),
    "background": ("#aabbcc", "#aabbcc"),
}
SWITCHES = {
    "rgb": "--no-rgb",
    "resample": "--resample",
    "confidence": "--confidence",
    "objects": "--objects",
}


def typed(job: type, files: type, *words: str) -> tuple[Any, dict[str, Any]]:
    """Return what a command of this job gets for these words."""
    got: list[tuple[Any, dict[str, Any]]] = []

    def command(files: Any, choices: Mapping[str, Any]) -> None:
        got.append((files, dict(choices)))

    app = typer.Typer()
    app.command()(with_choices(job, files)(command))
    result = CliRunner().invoke(app, ["in.png", "-o", "out.png", *words])
    assert result.exit_code == 0, result.output
    return got[0]


def flag(name: str) -> str:
    """Return the option of a field."""
    return (OPTIONS[name].flags or (f"--{name.replace('_', '-')}",))[0]


@pytest.mark.parametrize(("job", "files"), [(SegmentJob, Files), (MatteJob, CutOutFiles)])
def test_every_choice_of_a_job_can_be_typed_and_arrives(job: type, files: type) -> None:
    names = [field.name for field in fields(job) if field.name not in PYTHON_ONLY]
    words = [word for n in names if n in EVERY_CHOICE for word in (flag(n), EVERY_CHOICE[n][0])]
    words += [SWITCHES[name] for name in names if name in SWITCHES]
    _, choices = typed(job, files, *words)
    meant = {n: EVERY_CHOICE[n][1] if n in EVERY_CHOICE else n != "rgb" for n in names}
    assert choices == meant
    assert job(**choices) == job(**meant)


def test_what_is_not_typed_is_left_to_the_defaults_of_the_job() -> None:
    _, choices = typed(SegmentJob, Files, "-m", "m")
    assert SegmentJob(**choices) == SegmentJob("m")
    _, choices = typed(MatteJob, CutOutFiles)
    assert MatteJob(**choices) == MatteJob()


def test_no_option_is_without_a_job() -> None:
    jobs = {field.name for job in (SegmentJob, MatteJob) for field in fields(job)}
    assert set(OPTIONS) == jobs - set(PYTHON_ONLY)


def test_compression_arrives() -> None:
    files, _ = typed(MatteJob, CutOutFiles, "--compression", "9")
    assert files.compression == 9


@pytest.mark.parametrize(
    "words",
    [["--tile", "big"], ["--region", "4:2,1:3"],
     ["--colour-order", "GRB"], ["--statistics", "tile"], ["--format", "jpg"],
     ["--normalization", "percentile:9,1"], ["--workers", "many"], ["--no-such-option"]],
)  # fmt: skip
def test_what_cannot_be_meant_is_wrong_usage(words: list[str]) -> None:
    app = typer.Typer()
    app.command()(with_choices(SegmentJob, Files)(lambda files, choices: None))
    result = CliRunner().invoke(app, ["in.png", "-o", "out.png", "-m", "m", *words])
    assert result.exit_code == 2
