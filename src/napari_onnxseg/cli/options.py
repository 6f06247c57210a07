"""Every choice of a job as an option; defaults and names come from the job itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Annotated, Any, get_type_hints

import typer

from napari_onnxseg.cli.faults import told
from napari_onnxseg.cli.texts import (
    read_channels,
    read_device,
    read_index,
    read_normalization,
    read_region,
    read_sides,
)
from napari_onnxseg.errors import ChoiceError


@dataclass(frozen=True, slots=True)
class Option:
    """How one field of a job is written on the command line.

    Parameters
    ----------
    help : str
        What people read.
    kind : type
        What the command line holds before it is read.
    flags : tuple of str
        Spellings; empty for the field's own name.
    metavar : str or None
        Placeholder in the help.
    read : callable or None
        From text to the value of the field.
    """

    help: str
    kind: Any = str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None


def _one_of(*allowed: str) -> Callable[[str], str]:
    """Return a reader that accepts only these words, whatever their case."""
    spelling = {word.lower(): word for word in allowed}

    def read(text: str) -> str:
        if text.lower() not in spelling:
            raise ChoiceError(f"{text!r} is not one of {', '.join(allowed)}.")
        return spelling[text.lower()]

    return read


_SIDES: Mapping[str, Any] = {"metavar": "PX|ROWSxCOLUMNS", "read": read_sides}

OPTIONS: Mapping[str, Option] = {
    "model": Option(
        "Name in the list of models, or an .onnx, .czann, .czseg or .czmodel file.",
        flags=("--model", "-m"),
    ),
    "device": Option(
        "auto, cpu, gpu, cuda, cuda:1 or another provider; only auto may fall back to the CPU.",
        flags=("--device", "-d"),
        read=read_device,
    ),
    "tile": Option("What the network sees at once.", **_SIDES),
    "halo": Option("Computed and thrown away on each inner side of a tile.", **_SIDES),
    "overlap": Option("Shared with the neighbouring tile and blended.", **_SIDES),
    "batch": Option("Tiles per run of the network.", int),
    "workers": Option("Tiles worked on at once.", int),
    "index": Option(
        "Planes of a stack, one entry per leading axis: a number or 'all'.",
        metavar="3,all",
        read=read_index,
    ),
    "channel_axis": Option("Axis of the image that holds channels.", int),
    "rgb": Option(
        "Whether the last axis holds red, green, blue (and alpha); the file says by default.",
        bool,
        flags=("--rgb/--no-rgb",),
    ),
    "channels": Option(
        "Image channel for each channel of the model.", metavar="2,0,1", read=read_channels
    ),
    "colour_order": Option(
        "RGB or BGR; the card says by default.",
        flags=("--colour-order", "--color-order"),
        read=_one_of("RGB", "BGR"),
    ),
    "normalization": Option(
        "Overrides the card: percentile:1,99.8, mean_std:M,../S,.., unit, ... or JSON.",
        metavar="METHOD[:NUMBERS]",
        read=read_normalization,
    ),
    "statistics": Option(
        "Measure intensities over the whole 'image' or each 'plane' of a stack.",
        read=_one_of("image", "plane"),
    ),
    "nodata": Option("Pixels of this value are no data, as NaN always is.", float),
    "pixel_size": Option(
        "Side of the image's pixels, such as '0.25 um' or '5x6 cm'; the file says by default.",
        metavar="LENGTH",
    ),
    "resample": Option(
        "Bring the image to the resolution, or the size, that the model was trained at; by "
        "default where both are known.",
        bool,
        flags=("--resample/--no-resample",),
    ),
    "threshold": Option(
        "Probability above which a pixel is foreground, 0 to 1; the card or 0.5 by default.", float
    ),
    "confidence": Option("Also write the probability of the chosen class.", bool),
    "objects": Option("Also write separate objects, when the model is made for it.", bool),
    "heads": Option(
        "Output that is wanted, of a model with several; may be given more than once.",
        list[str],
        flags=("--head",),
        metavar="NAME",
        read=tuple,
    ),
    "region": Option(
        "Part of each plane, the result being that part: rows, then columns.",
        metavar="FROM:TO,FROM:TO",
        read=read_region,
    ),
    "feather_px": Option(
        "Soften the edge by this many px at the model's side; 3 and 5 are usual.",
        float,
        flags=("--feather",),
    ),
    "background": Option("Put the subject on 'white', a colour name or #rrggbb."),
}
"""One entry for every field of every job but those that only Python takes."""

PYTHON_ONLY = ("store", "resume")
"""Choices of a job that the command line makes from other options, or not at all."""


def with_choices(
    job: type, files: type, **overrides: Option
) -> Callable[[Callable[[Any, Mapping[str, Any]], None]], Callable[..., None]]:
    """Give a command the arguments of a record and one option for each field of a job.

    Parameters
    ----------
    job : type
        `SegmentJob` or `MatteJob`.
    files : type
        `Files` or a record that extends it; its fields carry Typer's annotations.
    **overrides : Option
        Options that read differently for this command.

    Returns
    -------
    callable
        Decorator for a function of two arguments: the record, and a mapping from field to
        value that holds only the choices the user made.
    """
    wanted = [field for field in fields(job) if field.name not in PYTHON_ONLY]
    options = {field.name: overrides.get(field.name, OPTIONS[field.name]) for field in wanted}

    def decorate(command: Callable[[Any, Mapping[str, Any]], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            with told(given["as_json"]):
                choices = _read(options, {name: given.pop(name) for name in options})
                command(files(**given), choices)

        parameters = [
            *_declared(files),
            *(_parameter(field, options[field.name]) for field in wanted),
        ]
        # Typer reads the signature; older releases read the annotations as well.
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _declared(record: type) -> list[inspect.Parameter]:
    """Describe the fields of a record whose annotations are Typer's already."""
    hints = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(record)
    ]


def _parameter(field: Field[Any], option: Option) -> inspect.Parameter:
    """Describe one field of a job as a keyword parameter that Typer turns into an option."""
    required = field.default is MISSING
    switch = option.kind is bool and not option.flags
    silent = required or field.default in (None, False)
    info = typer.Option(
        *(option.flags or (f"--{field.name.replace('_', '-')}",)),
        help=option.help if silent else f"{option.help} Default: {field.default}.",
        metavar=option.metavar,
        show_default=False,
    )
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else (False if switch else None),
        annotation=Annotated[option.kind if required or switch else option.kind | None, info],
    )


def _read(options: Mapping[str, Option], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that were given, each as the job holds it."""
    return {
        name: read(value) if (read := options[name].read) else value
        for name, value in raw.items()
        if value not in (None, [], ())
    }
