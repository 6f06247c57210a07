"""Findings about the input: axes, sizes, element type."""

from __future__ import annotations

from collections.abc import Iterator

from napari_onnxseg.graph import advice
from napari_onnxseg.graph.findings import Finding, listed
from napari_onnxseg.graph.hard_sizes import hard_sizes, makers_of
from napari_onnxseg.graph.subject import Subject


def about_axes(subject: Subject) -> Iterator[Finding]:
    """Look at number, rank and layout of the inputs."""
    source = subject.source
    if source is None:
        names = [tensor.name for tensor in subject.facts.inputs]
        yield Finding(
            "error",
            "several-inputs",
            f"The model has {len(names)} inputs ({listed(names) or 'none'}).",
            "Only networks that take one picture can be used.",
            "Export the network with its prompts, masks or sizes built in, one image input left.",
        )
    elif len(source.dims) not in (4, 5):
        yield Finding(
            "error",
            "input-rank",
            f"The input '{source.name}' has {len(source.dims)} axes {list(source.dims)}.",
            "Needed are batch, channels, rows and columns; the model cannot be used.",
            "PyTorch:\n    torch.onnx.export(net, image[None], ...)  # with a batch axis",
        )
    elif len(source.dims) == 5:
        yield Finding(
            "error",
            "takes-volumes",
            f"The model takes volumes: its input '{source.name}' has 5 axes {list(source.dims)}.",
            "Only models for planes can be run.",
            "Export a network that is trained on planes; stacks are worked on plane by plane.",
        )
    elif subject.probe is None:
        yield Finding(
            "warning",
            "layout-unclear",
            f"Which axis of '{source.name}' {list(source.dims)} holds channels cannot be told "
            "from the graph.",
            "Colours and rows may be confused; state the layout in the card, or pass it to this "
            "check.",
            advice.FREE_SIZE,
        )
    else:
        yield from _channels(subject, subject.probe.layout)


def about_sizes(subject: Subject) -> Iterator[Finding]:
    """Look at fixed batch and sides, and at sizes written into the graph."""
    probe = subject.probe
    if probe is None:
        return
    batch = probe.dims[probe.layout.index("N")]
    if batch:
        yield Finding(
            "warning" if batch > 1 else "info",
            "batch-fixed",
            f"The batch is fixed at {batch}.",
            "Tiles run one by one."
            if batch == 1
            else f"Every run computes {batch} tiles, also when fewer are left.",
            advice.FREE_SIZE,
            mendable=True,
        )
    if subject.fixed_sides:
        yield from _fixed_sides(subject)
    else:
        yield from _hard_sizes(subject)


def about_type(subject: Subject) -> Iterator[Finding]:
    """Look at the element type of the input."""
    dtype = subject.source.dtype if subject.source else "float32"
    if dtype == "float64":
        yield Finding(
            "warning",
            "float64-input",
            "The input is float64.",
            "Tiles take twice the memory and time, and the runtime has no 64-bit convolutions.",
            advice.FLOAT32,
            mendable=True,
        )
    elif dtype == "float16":
        yield Finding(
            "info",
            "float16-input",
            "The input is float16.",
            "Fast on a GPU; on the processor slower than float32, and scores are coarse.",
            advice.FLOAT32,
        )
    elif dtype == "uint8":
        yield Finding(
            "info",
            "uint8-input",
            "The input is uint8, so that intensities are scaled inside the network.",
            "8-bit pictures are fed as they are; others are brought from their full range to 0 to "
            "255.",
        )
    elif dtype != "float32":
        yield Finding(
            "warning",
            "odd-input",
            f"The input is {dtype}.",
            "Intensities are rounded to that type before the network sees them.",
            advice.FLOAT32,
        )


def _channels(subject: Subject, layout: str) -> Iterator[Finding]:
    """Look at the channel axis."""
    probe = subject.probe
    if layout.endswith("C"):
        yield Finding(
            "info",
            "channels-last",
            f"The input is {layout}: channels come last.",
            "The picture is right; every tile is turned once.",
        )
    if probe and probe.dims[layout.index("C")] is None:
        yield Finding(
            "info",
            "channels-free",
            "The file does not say how many channels the input has.",
            "The picture is fed with the channels it has; state the number in the card.",
            advice.FREE_SIZE,
        )


def _fixed_sides(subject: Subject) -> Iterator[Finding]:
    """Look at fixed sides, and whether they lie on the network's own grid."""
    sides = " x ".join(map(str, subject.fixed_sides))
    yield Finding(
        "warning",
        "sides-fixed",
        f"The sides of the input are fixed at {sides} px.",
        "Every tile has this size: small pictures are filled up by reflection, and a large halo "
        "leaves little of each tile.",
        advice.FREE_SIZE,
        mendable=True,
    )
    probe, view = subject.probe, subject.view
    if probe is None or view is None:
        return
    pairs = zip(probe.axes, view.multiple, strict=True)
    odd = [f"{probe.dims[a]} by {m}" for a, m in pairs if (probe.dims[a] or m) % m]
    if odd:
        yield Finding(
            "warning",
            "side-off-stride",
            f"The fixed side does not divide by the total downsampling ({listed(odd)}).",
            "Tiles lie on no common grid, so that their seams can show; they are blended.",
            advice.SAME_GRID,
        )


def _hard_sizes(subject: Subject) -> Iterator[Finding]:
    """Look for the size of the exporter's example in the graph of a free input."""
    if subject.graph is None or subject.target is None:
        return
    names = hard_sizes(subject.graph, makers_of(subject.model.graph))
    if not names:
        return
    runs = subject.target.name in subject.graph.shapes
    yield Finding(
        "warning" if runs else "error",
        "hard-coded-size",
        "The input is declared free, but the size of the exporter's example is written into "
        f"{listed(names)}.",
        "The whole picture is brought to that size inside the network."
        if runs
        else "The network runs at that one size only, and fails at any other.",
        advice.FREE_SIZE,
        mendable=True,
    )
