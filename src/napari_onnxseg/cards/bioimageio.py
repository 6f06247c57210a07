"""Models of the bioimage.io model zoo: a description in YAML and ONNX weights beside it.

References
----------
`bioimage.io model specification <https://bioimage-io.github.io/spec-bioimage-io>`_, 0.4 and
0.5; of 0.3 the two names that differ. Tensors belong to those of the graph by their order.
"""

from __future__ import annotations

import re
from pathlib import Path

from napari_onnxseg.cards import bioimageio_v04, bioimageio_v05
from napari_onnxseg.cards.bioimageio_files import find_description, read_yaml
from napari_onnxseg.cards.bioimageio_meaning import described
from napari_onnxseg.cards.bioimageio_node import Node
from napari_onnxseg.cards.bioimageio_parts import (
    cited_by,
    extra_of,
    nickname_of,
    people_of,
    tolerances_of,
    weights_of,
)
from napari_onnxseg.cards.bioimageio_rdf import Rdf
from napari_onnxseg.cards.bioimageio_sources import local_file
from napari_onnxseg.cards.czann import Package
from napari_onnxseg.errors import ModelError
from napari_onnxseg.graph.inspect import inspect
from napari_onnxseg.graph.load import followed

_VERSIONS = {"0.3": bioimageio_v04, "0.4": bioimageio_v04, "0.5": bioimageio_v05}


def read_bioimageio(path: Path) -> Package:
    """Find the network of a bioimage.io model and read what is said of it.

    Parameters
    ----------
    path : Path
        Zip file or description; of a folder, the description in it.

    Returns
    -------
    Package
        Model and description.

    Raises
    ------
    ModelNotFoundError
        When there is no such file.
    ModelError
        In one sentence: no such description, no ONNX weights, not the weights that are
        meant, an operation that cannot be done, or a harmful package.
    """
    rdf = read_rdf(path)
    network = weights_file(rdf)
    with followed(network):
        facts = inspect(network)
    told = described(rdf, path, facts)
    return Package(network, told)


def read_rdf(path: Path) -> Rdf:
    """Read the description of a bioimage.io model.

    Parameters
    ----------
    path : Path
        Folder, zip file, or the description itself.

    Returns
    -------
    Rdf
        What it says.

    Raises
    ------
    ModelNotFoundError
        When there is no such file.
    ModelError
        When there is no description, or naming the entry that cannot be used.
    """
    place = find_description(path)
    top = Node(read_yaml(place))
    kind, version = top.text("type", "model"), top.text("format_version")
    if kind != "model":
        raise ModelError(f"'{place.name}' in '{path}' describes a {kind}, not a model.")
    reader = _VERSIONS.get(".".join(version.split(".")[:2]))
    if reader is None:
        raise ModelError(
            f"'{place.name}' in '{path}' is of format {version or 'unknown'}; versions 0.3, 0.4 "
            "and 0.5 of bioimage.io descriptions are read."
        )
    inputs, outputs = reader.tensors(top)
    if not inputs or not outputs:
        raise ModelError(f"'{place.name}' in '{path}' names no inputs or no outputs.")
    weights, external, formats = weights_of(top)
    extra, notes = extra_of(top)
    documentation = top.given.get("documentation")
    return Rdf(
        path=place,
        version=version,
        name=top.text("name"),
        inputs=inputs,
        outputs=outputs,
        nickname=nickname_of(top),
        description=top.text("description"),
        licence=top.text("license"),
        documentation=str(documentation.get("source", ""))
        if isinstance(documentation, dict)
        else top.text("documentation"),
        authors=people_of(top, "authors"),
        cite=cited_by(top),
        tags=top.texts("tags"),
        weights=weights,
        external=external,
        formats=formats,
        tolerances=tolerances_of(top),
        extra=extra,
        notes=notes,
    )


def weights_file(rdf: Rdf) -> Path:
    """Return the ONNX file of a model, checked against its hash.

    Parameters
    ----------
    rdf : Rdf
        The description.

    Returns
    -------
    Path
        The file; what it keeps beside it is checked too.

    Raises
    ------
    ModelError
        When there are no ONNX weights, or not those that are meant.
    """
    folder = rdf.path.parent
    if rdf.weights is None:
        there = ", ".join(rdf.formats) or "none"
        raise ModelError(
            f"The model '{rdf.name}' holds no ONNX weights, only: {there}; export it to ONNX and "
            "add the file to the package under 'weights', 'onnx'."
        )
    path = local_file(rdf.weights, folder, "weights")
    if rdf.external is not None:
        beside = local_file(rdf.external, folder, "external weights")
        if beside.parent != path.parent:
            raise ModelError(
                f"'{rdf.external.source}' must lie beside '{path.name}' in the package, because "
                "networks look for their weights only there."
            )
    return path


def package_name(rdf: Rdf) -> str:
    """Return a short name for files.

    Parameters
    ----------
    rdf : Rdf
        The description.

    Returns
    -------
    str
        From the nickname, else from the name; letters, digits and hyphens.
    """
    told = rdf.nickname if rdf.nickname and "/" not in rdf.nickname else rdf.name
    short = re.sub(r"[^a-z0-9]+", "-", told.lower()).strip("-")[:60]
    return short or rdf.path.parent.name
