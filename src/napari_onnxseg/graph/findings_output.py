"""Findings about the outputs: how many, what they hold, and what was done to the scores."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from napari_onnxseg.graph import advice
from napari_onnxseg.graph.ending import activations, mixes_pixels
from napari_onnxseg.graph.findings import Finding, listed
from napari_onnxseg.graph.subject import Subject


def about_outputs(subject: Subject) -> Iterator[Finding]:
    """Look at number and shape of the outputs."""
    outputs, target = subject.facts.outputs, subject.target
    if len(outputs) > 1 and target:
        yield Finding(
            "warning",
            "several-outputs",
            f"The model has {len(outputs)} outputs ({listed(t.name for t in outputs)}).",
            f"One is used ('{target.name}' unless the card names another); the others are "
            "computed and thrown away.",
            advice.ONE_OUTPUT,
            mendable=True,
        )
    if subject.trouble:
        yield Finding(
            "error",
            "not-a-map",
            subject.trouble,
            "The answer cannot be laid over the picture.",
            advice.ONE_OUTPUT,
        )
    elif subject.view and not subject.view.output_dims:
        yield Finding(
            "info",
            "shape-unknown",
            "The graph does not tell the shape of its output.",
            "The number of classes is known after the first tile only.",
            advice.STANDARD,
        )


def about_scores(subject: Subject) -> Iterator[Finding]:
    """Look at what the last operators make of the scores."""
    target = subject.target
    if target is None:
        return
    chain = activations(subject.model.graph, target.name)
    last = chain[0].op_type if chain else ""
    if last == "ArgMax":
        yield Finding(
            "info",
            "argmax-inside",
            "The network decides on classes itself (ArgMax).",
            "Labels are right, but there is no confidence, no threshold, and tiles cannot be "
            "blended.",
            advice.SCORES,
        )
    elif not chain:
        yield Finding(
            "info",
            "logits",
            "The output holds logits: no softmax or sigmoid at the end.",
            "Classes are the same; probabilities are computed by the plugin.",
            "",
            mendable=subject.channel_axis is not None,
        )
    else:
        yield from _doubled(chain)
        yield from _single_class(subject, chain)
        yield from _wrong_axis(subject, chain)


def _doubled(chain: list[onnx.NodeProto]) -> Iterator[Finding]:
    if len(chain) > 1:
        yield Finding(
            "error",
            "activation-doubled",
            f"The scores go through {' and '.join(n.op_type for n in reversed(chain))}.",
            "Probabilities are squeezed together: confidence looks low everywhere, and "
            "thresholds are wrong.",
            advice.LOGITS,
            mendable=True,
        )


def _single_class(subject: Subject, chain: list[onnx.NodeProto]) -> Iterator[Finding]:
    """Find a softmax over one class, which is one everywhere."""
    axis, view = subject.channel_axis, subject.view
    if axis is None or view is None or view.output_dims[axis] != 1:
        return
    if any(node.op_type == "Softmax" for node in chain):
        yield Finding(
            "error",
            "softmax-of-one",
            "A softmax over a single class gives 1 at every pixel.",
            "The whole picture becomes foreground.",
            advice.LOGITS,
            mendable=True,
        )


def _wrong_axis(subject: Subject, chain: list[onnx.NodeProto]) -> Iterator[Finding]:
    """Find a softmax that runs over rows or columns."""
    for node in chain:
        if node.op_type in ("Softmax", "LogSoftmax") and mixes_pixels(subject, node):
            yield Finding(
                "error",
                "softmax-axis",
                f"The final {node.op_type} runs over rows or columns, not over classes alone.",
                "Each pixel's scores depend on the whole row or picture: probabilities are near "
                "zero, and tiles differ.",
                advice.CHANNEL_SOFTMAX,
                mendable=True,
            )
