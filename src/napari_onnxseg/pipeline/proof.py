"""Run the test tensors of a model package and compare with what its author got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from napari_onnxseg.arrays.source import as_stack
from napari_onnxseg.cards.bioimageio import read_bioimageio, read_rdf
from napari_onnxseg.cards.bioimageio_files import SUFFIXES
from napari_onnxseg.cards.bioimageio_meaning import spatial_letters
from napari_onnxseg.cards.bioimageio_rdf import Rdf, Tensor
from napari_onnxseg.cards.bioimageio_tensors import read_tensor, tolerance_for
from napari_onnxseg.cards.card import ModelCard, TensorSpec
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.sources import locate
from napari_onnxseg.errors import ModelError
from napari_onnxseg.pipeline.feeding import feeder_for, seen_image
from napari_onnxseg.pipeline.proof_outputs import OutputProof, compared, tiled_tolerance
from napari_onnxseg.pipeline.proof_tiles import both_ways, small_tile
from napari_onnxseg.prepare.chain import settle_steps
from napari_onnxseg.prepare.channels import ChannelMap
from napari_onnxseg.prepare.normalize import Normalization
from napari_onnxseg.prepare.series import Seen
from napari_onnxseg.prepare.stages import apply_stages
from napari_onnxseg.prepare.steps import Step
from napari_onnxseg.runtime.session import open_session
from napari_onnxseg.types import AnyArray

__all__ = ["Proof", "compared", "prove"]


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer of a model to the test tensors of its package.

    Parameters
    ----------
    model : str
        Its name.
    device : str
        What it ran on.
    outputs : tuple of OutputProof
        Each of its maps, and, where tiles can be exact, each result in tiles beside that in
        one piece.
    notes : tuple of str
        Sentences for the user.
    """

    model: str
    device: str
    outputs: tuple[OutputProof, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all outputs are what the author got."""
        return all(output.ok for output in self.outputs)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON-able form.

        Returns
        -------
        dict of str to object
            Every field by its name, with the verdicts.
        """
        outputs = [{**asdict(o), "ok": o.ok, "words": o.words()} for o in self.outputs]
        return {
            "model": self.model,
            "device": self.device,
            "ok": self.ok,
            "outputs": outputs,
            "notes": list(self.notes),
        }


def prove(model: str | Path, device: str = "auto") -> Proof:
    """Run the test tensors of a package as an image is run, and compare.

    The preparation, the network and what follows it are those of a run. The test pictures
    are first worked on in one piece; where tiles can be exact and the pictures are large
    enough, they are then run in tiles.

    Parameters
    ----------
    model : str or Path
        A name in the catalogue, or the path of a bioimage.io package.
    device : str
        As for a run.

    Returns
    -------
    Proof
        How each output differs.

    Raises
    ------
    ModelNotFoundError
        When there is no such model.
    ModelError
        When it comes without test tensors, or they are damaged.
    OnnxSegError
        As a run raises it.
    """
    given = locate(model).given
    rdf = _described(given)
    told = read_bioimageio(given).told
    bench = _Bench.of(rdf, load_card(given), told.normalization, device)
    names = (told.tensors.output_name, *(hint.output_name for hint in told.others))
    maps = [tensor for tensor in rdf.outputs if tensor.is_map]
    pairs = zip(maps, names, strict=True)
    outputs = [bench.output(tensor, name) for tensor, name in pairs]
    tiled, note = bench.tiled(given)
    return Proof(bench.card.name, bench.device, (*outputs, *tiled), (note,) if note else ())


def _described(given: Path) -> Rdf:
    """Return the description of a package, once it has what is needed."""
    if given.suffix.lower() not in SUFFIXES:
        raise ModelError(
            f"'{given.name}' comes without test tensors; only bioimage.io packages (.zip, "
            "rdf.yaml) bring them."
        )
    rdf = read_rdf(given)
    missing = [t.name for t in (*rdf.inputs[:1], *rdf.outputs) if t.test is None and t.is_map]
    if missing:
        raise ModelError(
            f"The model '{rdf.name}' comes without test tensors for {', '.join(missing)}; ask its "
            "author for them."
        )
    return rdf


@dataclass(frozen=True, slots=True)
class _Bench:
    """A model, and its test pictures as it is fed with them."""

    rdf: Rdf
    card: ModelCard
    samples: tuple[_Sample, ...]
    device_asked: str
    device: str

    @classmethod
    def of(
        cls, rdf: Rdf, card: ModelCard, normalization: Normalization | None, device: str
    ) -> _Bench:
        """Prepare the test pictures, each by its own statistics, as images are."""
        pictures = read_tensor(rdf, rdf.inputs[0])
        rule = normalization or Normalization("none")
        samples = tuple(_prepared(picture, card.input, rule) for picture in pictures)
        named = open_session(card, device).device
        return cls(rdf, card, samples, device, named)

    def output(self, tensor: Tensor, name: str) -> OutputProof:
        """Run all test pictures and compare one output."""
        spec = next((head.output for head in self.card.heads if head.output.name == name), None)
        tolerance = tolerance_for(self.rdf, tensor)
        if spec is None:
            return OutputProof(tensor.name, trouble="the card leaves this output aside.")
        wanted = read_tensor(self.rdf, tensor)
        session = open_session(replace(self.card, output=spec), self.device_asked)
        found = np.stack(
            [_finished(session.run(s.fed[np.newaxis])[0], tensor.steps, s) for s in self.samples]
        )
        return compared(tensor.name, _cropped(found, wanted, tensor), wanted, tolerance)

    def tiled(self, given: Path) -> tuple[list[OutputProof], str]:
        """Run the first test picture in tiles too; or say why not."""
        picture = read_tensor(self.rdf, self.rdf.inputs[0])[0]
        tile, why = small_tile(self.card, picture.shape[1:])
        if not tile:
            return [], why
        sides = " × ".join(map(str, tile))
        found = [
            replace(
                compared(f"{name} in tiles of {sides} px", a, b, tiled_tolerance(b)),
                beside="one piece",
            )
            for name, a, b in both_ways(picture, given, self.card, tile, self.device_asked)
        ]
        return found, ""


def _cropped(found: AnyArray, wanted: AnyArray, tensor: Tensor) -> AnyArray:
    """Take off the halo where the author did; test tensors come with it or without."""
    halos = {spatial_letters(tensor).get(axis.name, ""): axis.halo for axis in tensor.axes}
    inner = [halos.get(letter, 0) for letter in "NC" + "DHW"[5 - found.ndim :]]
    less = tuple(side - 2 * halo for side, halo in zip(found.shape, inner, strict=True))
    if found.shape == wanted.shape or less != wanted.shape:
        return found
    return found[tuple(slice(halo, halo + side) for halo, side in zip(inner, less, strict=True))]


@dataclass(frozen=True, slots=True)
class _Sample:
    """A test picture, raw and as it is fed."""

    fed: AnyArray
    seen: Seen


def _prepared(picture: AnyArray, spec: TensorSpec, normalization: Normalization) -> _Sample:
    """Prepare a picture (C, ...) as one of a run is prepared."""
    stack = as_stack(picture, channel_axis=0, spatial_ndim=spec.spatial_ndim)
    source = stack.plane(())
    count = source.channels
    channels = ChannelMap(tuple(range(count)), None, None, f"{count} channels in their order")
    feeder, _, _ = feeder_for((source,), channels, normalization, spec.dtype, None)
    fed = np.empty(picture.shape, spec.dtype)
    feeder.fill(np.ascontiguousarray(picture), fed)
    return _Sample(fed, seen_image((source,), channels, None))


def _finished(scores: AnyArray, steps: Sequence[Step], sample: _Sample) -> AnyArray:
    """Do to scores (K, ...) what the package says."""
    values = np.array(scores, np.float32)

    def blocks() -> Iterator[AnyArray]:
        yield values

    settled = settle_steps(tuple(steps), Seen(blocks), count=len(values), reference=sample.seen)
    apply_stages(values, settled.stages)
    return values
