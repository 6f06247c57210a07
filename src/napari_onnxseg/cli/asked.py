"""What ``models add``, ``check`` and ``mend`` ask, as records that Typer reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from napari_onnxseg.cli.faults import told

T = TypeVar("T")

File = Annotated[
    Path,
    typer.Argument(help="The .onnx file, a package, or a name in the list.", show_default=False),
]
Layout = Annotated[
    str,
    typer.Option(
        "--layout",
        metavar="NCHW|NHWC|...",
        help="Order of the input's axes, where the graph does not tell.",
        show_default=False,
    ),
]
Output = Annotated[
    str, typer.Option("--output", help="The output of interest; the first map by default.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddAsked:
    """A model to copy into the user's folder, and what is known of it.

    Parameters
    ----------
    model : Path
        The file.
    title, task, normalization, colour_order, classes : str
        What its card shall say, or nothing.
    as_json : bool
        Print one JSON object instead of lines.
    """

    model: Annotated[
        Path,
        typer.Argument(help="The .onnx file, the package, or its card.", show_default=False),
    ]
    title: Annotated[str, typer.Option(help="One line for people.", show_default=False)] = ""
    task: Annotated[
        str,
        typer.Option(metavar="semantic|matting|image", help="What it does.", show_default=False),
    ] = ""
    normalization: Annotated[
        str,
        typer.Option(
            metavar="METHOD[:NUMBERS]",
            help="Intensities it was trained on: percentile:1,99.8, unit, ... or JSON.",
            show_default=False,
        ),
    ] = ""
    colour_order: Annotated[
        str,
        typer.Option(
            "--colour-order",
            "--color-order",
            metavar="RGB|BGR",
            help="Order of its colours.",
            show_default=False,
        ),
    ] = ""
    classes: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Names of its classes, the background first.",
            show_default=False,
        ),
    ] = ""
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAsked:
    """A file to check.

    Parameters
    ----------
    model : Path
        The ``.onnx`` file, a package that holds one, or a name in the catalogue.
    layout, output : str
        What the graph leaves open, or nothing.
    brief : bool
        Leave out how to export again.
    as_json : bool
        Print one JSON object instead of lines.
    """

    model: File
    layout: Layout = ""
    output: Output = ""
    brief: Annotated[
        bool, typer.Option("--brief", help="Leave out how to export the model again.")
    ] = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MendAsked:
    """A file to mend, and how; the fields in the middle are those of `Choices`.

    Parameters
    ----------
    model, out : Path
        The ``.onnx`` file, package or name, and the copy, an ``.onnx`` file.
    batch, sides, inference, float32 : bool or None
        Do it or refuse, leave it, or do it where it can be proven.
    keep : list of str or None
        Outputs that stay.
    activation, resize : str or None
        As in `Choices`.
    opset : int or None
        Older operator set to declare.
    external : str or None
        As in `Choices`.
    card : Path or None
        Card to embed.
    layout, output : str
        What the graph leaves open, or nothing.
    as_json : bool
        Print one JSON object instead of lines.
    """

    model: File
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The copy; must not exist.", show_default=False)
    ]
    batch: Annotated[
        bool | None, typer.Option("--free-batch/--keep-batch", help="Any number of tiles a run.")
    ] = None
    sides: Annotated[
        bool | None, typer.Option("--free-sides/--keep-sides", help="Tiles of any size.")
    ] = None
    inference: Annotated[
        bool | None,
        typer.Option("--inference/--keep-training", help="Switch training mode off."),
    ] = None
    float32: Annotated[
        bool | None, typer.Option("--float32/--keep-float64", help="Narrow 64-bit numbers.")
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="OUTPUT", help="Drop all other outputs; may be repeated."),
    ] = None
    activation: Annotated[
        str | None,
        typer.Option("--activation", metavar="softmax|sigmoid|none", help="End in this one only."),
    ] = None
    resize: Annotated[
        str | None,
        typer.Option(
            "--resize",
            metavar="half_pixel|asymmetric|...",
            help="Where linear and cubic resizes place their samples; changes the answer.",
        ),
    ] = None
    opset: Annotated[
        int | None, typer.Option("--opset", help="Declare this older operator set.")
    ] = None
    external: Annotated[
        str | None,
        typer.Option("--weights", metavar="in|out", help="In the file, or in a side file."),
    ] = None
    card: Annotated[
        Path | None, typer.Option("--card", help="Embed this card (.json) in the file.")
    ] = None
    layout: Layout = ""
    output: Output = ""
    as_json: AsJson = False


def with_record(record: type[T]) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """Give a command the fields of a record as its arguments and options.

    Parameters
    ----------
    record : type
        A dataclass whose annotations are Typer's, with a field ``as_json``.

    Returns
    -------
    callable
        Decorator for a function of the record; faults inside become one line.
    """

    def decorate(command: Callable[[T], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            with told(given["as_json"]):
                command(record(**given))

        hints = get_type_hints(record, include_extras=True)
        parameters = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(record).parameters.items()
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate
