"""Files of other tools in the folder of a model: Hugging Face, nnU-Net, MONAI.

References
----------
`transformers image processors <https://huggingface.co/docs/transformers>`_;
`nnU-Net v2 <https://github.com/MIC-DKFZ/nnUNet>`_ ``dataset.json`` and ``plans.json``;
`MONAI bundle specification <https://docs.monai.io/en/stable/mb_specification.html>`_.
Only what is plainly stated is read; nothing in these files is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from napari_onnxseg.cards.card import Sizing, Suggested
from napari_onnxseg.cards.description import Description
from napari_onnxseg.cards.layers import layered
from napari_onnxseg.cards.values import Entries, as_number, as_numbers, named_classes, shortened
from napari_onnxseg.graph.inspect import GraphFacts
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.steps import Step

Numbers = tuple[float, ...]

MOST_BYTES = 16 << 20
"""Size of a file that is read."""

_BYTE_RANGE = 255
_SPACED = (".nii.gz", ".nii", ".nrrd", ".nhdr", ".mha", ".mhd")
_NOT_SEMANTIC = tuple(
    f"For{what}"
    for what in (
        "ImageClassification",
        "ObjectDetection",
        "InstanceSegmentation",
        "UniversalSegmentation",
        "Segmentation",
        "DepthEstimation",
    )
)
_NESTED = ("onnx", "models")
"""Folders whose own folder holds the descriptions (Hugging Face; MONAI)."""


def describe(path: Path, facts: GraphFacts) -> Description:
    """Say what the files around a model tell.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    facts : GraphFacts
        Its declarations.

    Returns
    -------
    Description
        Empty when there are no such files; a file that cannot be read is named in a note.
    """
    folder = _Folder(path)
    found = (_hugging_face(folder), _nnunet(folder, facts), _monai(folder))
    told = layered(*found)
    return replace(told, notes=(*told.notes, *folder.notes)).known_from("package")


class _Folder:
    """The JSON files around a model; ``notes`` name those that are broken."""

    def __init__(self, path: Path) -> None:
        self.folders = [path.parent]
        if path.parent.name in _NESTED:
            self.folders += [path.parent.parent, path.parent.parent / "configs"]
        self.notes: list[str] = []

    def entries(self, name: str) -> Entries:
        """Return the content of the nearest file of that name; nothing where there is none."""
        found = next((f / name for f in self.folders if (f / name).is_file()), None)
        content = {} if found is None else self._read(found)
        return Entries(content, f"'{name}'")

    def _read(self, path: Path) -> Mapping[str, Any]:
        try:
            if path.stat().st_size > MOST_BYTES:
                raise ValueError("it is too large")
            content = json.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as fault:
            self.notes.append(f"'{path.name}' beside the model cannot be read ({fault}).")
            return {}
        return content if isinstance(content, dict) else {}


def _hugging_face(folder: _Folder) -> Description:
    """Read the image processor and the class names of transformers."""
    config = folder.entries("config.json")
    processor = folder.entries("preprocessor_config.json")
    architecture = str(next(iter(_listed(config.given.get("architectures"))), ""))
    is_config = bool(architecture) or "id2label" in config.given
    if not is_config and not processor.given:
        return Description()
    if architecture.endswith(_NOT_SEMANTIC):
        return Description(
            refusal=f"'config.json' beside the model calls it '{shortened(architecture)}'; only "
            "networks for semantic segmentation or cut-outs can be run."
        )
    told = Description(
        task="semantic" if architecture.endswith("SemanticSegmentation") else None,
        colour_order="RGB" if processor.given else None,
        normalization=_processed(processor),
        classes=named_classes(_labels(config)),
        sizing=_resized(processor),
    )
    return replace(told, notes=(*config.notes, *processor.notes))


def _labels(config: Entries) -> tuple[str, ...]:
    """Return the names of the classes, but not those that stand for none."""
    names = config.names("id2label")
    return () if all(re.fullmatch(r"LABEL_\d+", name) for name in names) else names


def _processed(entries: Entries) -> Normalization | None:
    """Return what an image processor does to 8-bit values: x * factor, minus mean, by std."""
    if not entries.given:
        return None
    factor = entries.number("rescale_factor", most=1e6) or 1 / _BYTE_RANGE
    scale = 1.0 if entries.flag("do_rescale") is False else 1 / factor
    by_range = abs(scale - _BYTE_RANGE) < 1e-3
    mean, std = entries.numbers("image_mean"), entries.numbers("image_std")
    if entries.flag("do_normalize") is False or not mean:
        plain = Normalization("none") if scale == 1 else Normalization("divide", scale=scale)
        return Normalization("unit") if by_range else plain
    if len(mean) != len(std) or not all(value > 0 for value in std):
        entries.notes.append(
            f"Mean and standard deviation in {entries.where} do not belong together; "
            "they were left aside."
        )
        return None
    if by_range:
        return Normalization("mean_std", mean=mean, std=std)
    return Normalization("standardize", scale=scale, mean=mean, std=std)


def _resized(entries: Entries) -> Sizing | None:
    """Return the square that whole pictures were brought to."""
    size = entries.given.get("size")
    if entries.flag("do_resize") is False or not isinstance(size, (Mapping, int, float)):
        return None
    sides = Entries(size if isinstance(size, Mapping) else {"height": size, "width": size}, "")
    height, width = sides.whole("height"), sides.whole("width")
    shortest = sides.whole("shortest_edge")
    if shortest:
        return Sizing(shortest, keep_aspect=True)
    return Sizing(height) if height and height == width else None


def _nnunet(folder: _Folder, facts: GraphFacts) -> Description:
    """Read the data set and the plans of nnU-Net v2."""
    dataset, plans = folder.entries("dataset.json"), folder.entries("plans.json")
    labels = dataset.section("labels")
    if not labels or ("configurations" not in plans.given and "numTraining" not in dataset.given):
        return Description()
    if any(isinstance(value, list) for value in labels.values()):
        return Description(
            refusal="'dataset.json' beside the model defines regions that overlap, so that its "
            "outputs are no classes; only networks that give one class for each pixel can be run."
        )
    plan = Entries(
        plans.section("configurations", "2d" if _rank(facts) == 4 else "3d_fullres"),
        "'plans.json'",
    )
    names = {value: name for name, value in labels.items() if name != "ignore"}
    told = Description(
        title=dataset.text("name"),
        description=dataset.text("description"),
        licence=dataset.text("licence", "license"),
        task="semantic",
        normalization=_schemes(plan, plans),
        classes=named_classes(Entries({"labels": names}, "'dataset.json'").names("labels")),
        pixel_size=_spacing(plan, dataset.text("file_ending")),
        suggested=_patch(plan, _rank(facts)),
    )
    return replace(told, notes=(*dataset.notes, *plan.notes))


def _schemes(plan: Entries, plans: Entries) -> Normalization | None:
    """Return the one scheme of all channels, where it is one that can be done here."""
    listed = [str(scheme) for scheme in _listed(plan.given.get("normalization_schemes"))]
    schemes = set(listed)
    if len(schemes) == 1 and (known := _NNUNET_SCHEMES.get(listed[0])):
        return known
    if schemes == {"CTNormalization"}:
        return _ct_scheme(len(listed), plan, plans)
    if schemes:
        plan.notes.append(
            f"The normalization of nnU-Net ({', '.join(sorted(schemes))}) cannot be done here; "
            "choose the nearest one for the run."
        )
    return None


def _ct_scheme(channels: int, plan: Entries, plans: Entries) -> Normalization | None:
    """Return the clip and the line by the foreground intensities of the training images."""
    given = plans.section(_FINGERPRINT)
    rows = [_ct_numbers(given.get(str(channel))) for channel in range(channels)]
    if None in rows:
        plan.notes.append(
            f"The normalization of nnU-Net (CTNormalization) needs {', '.join(_CT_KEYS)} of each "
            f"channel in '{_FINGERPRINT}' of {plans.where}, which are missing or no numbers; "
            "choose the nearest one for the run."
        )
        return None
    return Normalization("steps", steps=_ct_steps(*zip(*filter(None, rows), strict=True)))


def _ct_numbers(given: Any) -> Numbers | None:
    """Return both bounds, mean and standard deviation of a channel, if they make sense."""
    row = given if isinstance(given, Mapping) else {}
    numbers = tuple(n for key in _CT_KEYS if (n := as_number(row.get(key))) is not None)
    fits = len(numbers) == len(_CT_KEYS) and numbers[0] < numbers[1] and numbers[3] > 0
    return numbers if fits else None


def _ct_steps(low: Numbers, high: Numbers, mean: Numbers, std: Numbers) -> tuple[Step, ...]:
    """Return the steps; bounds that differ by channel are brought to 0..1 for the clip."""
    if len({*zip(low, high, strict=True)}) == 1:
        cut = Step("clip", low=low[0], high=high[0])
        return (cut, Step("standardize", mean=mean, std=std))
    spans = [(lo, hi - lo) for lo, hi in zip(low, high, strict=True)]
    return (
        Step("standardize", mean=low, std=tuple(span for _, span in spans)),
        Step("clip", low=0, high=1),
        Step("scale_linear", gain=tuple(span for _, span in spans), offset=low),
        Step("standardize", mean=mean, std=std),
    )


_FINGERPRINT = "foreground_intensity_properties_per_channel"
_CT_KEYS = ("percentile_00_5", "percentile_99_5", "mean", "std")
_NNUNET_SCHEMES = {
    "ZScoreNormalization": Normalization("zero_mean_unit_variance", per_channel=True),
    "RescaleTo01Normalization": Normalization("min_max", per_channel=True),
    "RGBTo01Normalization": Normalization("divide"),
    "NoNormalization": Normalization("none"),
}


def _spacing(plan: Entries, ending: str) -> tuple[float, str] | None:
    """Return the spacing; 1 is what nnU-Net writes for pictures, which have none."""
    sides = as_numbers(plan.given.get("spacing"))
    same = sides and max(sides) - min(sides) < 1e-6 * max(sides) and min(sides) > 0
    pictures = sides[:1] == (1,) and not ending.lower().endswith(_SPACED)
    return (sides[0], "mm") if same and not pictures else None


def _patch(plan: Entries, rank: int) -> Suggested | None:
    sides = as_numbers(plan.given.get("patch_size"))
    fits = len(sides) == rank - 2 and all(side >= 1 for side in sides)
    return Suggested(tile=tuple(map(int, sides))) if fits else None


def _monai(folder: _Folder) -> Description:
    """Read what a MONAI bundle says of itself; its transforms are programs and are not run."""
    metadata = folder.entries("metadata.json")
    outputs = metadata.section("network_data_format", "outputs")
    first = next((value for value in outputs.values() if isinstance(value, Mapping)), {})
    if "monai_version" not in metadata.given and not first:
        return Description()
    if first.get("type") not in (None, "image", "probabilities", "segmentation"):
        return Description()
    output = Entries(first, metadata.where)
    named = isinstance(first.get("channel_def"), Mapping)
    told = Description(
        title=metadata.text("name"),
        description=metadata.text("description"),
        origin=metadata.text("authors"),
        licence=metadata.text("license"),
        task="semantic" if first.get("format") == "segmentation" else None,
        classes=named_classes(output.names("channel_def")) if named else (),
    )
    return replace(told, notes=(*metadata.notes, *output.notes))


def _rank(facts: GraphFacts) -> int:
    return len(facts.inputs[0].dims) if facts.inputs else 0


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, and nothing for all else."""
    return value if isinstance(value, list) else []
