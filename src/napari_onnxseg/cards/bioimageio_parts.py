"""Entries of a bioimage.io description that all versions write alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from napari_onnxseg.cards.bioimageio_node import Node, fault
from napari_onnxseg.cards.bioimageio_rdf import Tolerance
from napari_onnxseg.cards.bioimageio_sources import File
from napari_onnxseg.cards.values import shortened

_KNOWN = """attachments authors badges cite config covers description documentation download_url
    format_version git_repo icon id id_emoji inputs license links maintainers name outputs
    packaged_by parent run_mode sample_inputs sample_outputs tags test_inputs test_outputs
    timestamp training_data type uploader version version_comment version_number weights rdf_source
    language framework source sha256 kwargs dependencies nickname nickname_icon owners
    conversion concept created orig_name"""
KNOWN = frozenset(_KNOWN.split())
"""Entries that change no result, or are read."""

_SHOWN = ("version", "git_repo", "timestamp", "parent")
"""Known entries that people may want to see."""


def file_of(given: Any) -> File | None:
    """Return a file: a path or address, alone or with its hash."""
    if isinstance(given, str) and given.strip():
        return File(given.strip())
    if isinstance(given, Mapping) and isinstance(given.get("source"), str):
        sha256 = given.get("sha256")
        return File(given["source"].strip(), str(sha256 or ""))
    return None


def weights_of(top: Node) -> tuple[File | None, File | None, tuple[str, ...]]:
    """Return the ONNX file, the file beside it with its weights, and all formats."""
    weights = top.node("weights")
    formats = tuple(str(name) for name in weights.given if weights.has(str(name)))
    onnx = weights.given.get("onnx")
    found = file_of(onnx)
    if onnx is not None and found is None:
        raise fault("weights.onnx.source", None, "a path is needed")
    beside = file_of(onnx.get("external_data")) if isinstance(onnx, Mapping) else None
    return found, beside, formats


def people_of(top: Node, key: str) -> tuple[str, ...]:
    """Return names, with where they work."""
    value = top.given.get(key)
    entries = value if isinstance(value, list) else []
    found = []
    for entry in entries:
        node = Node(entry) if isinstance(entry, Mapping) else Node({"name": entry})
        name, place = node.text("name").split(";")[0], node.text("affiliation")
        if name:
            found.append(f"{name} ({place})" if place else name)
    return tuple(found)


def cited_by(top: Node) -> tuple[str, ...]:
    """Return what is to be cited."""
    value = top.given.get("cite")
    entries = [Node(e) for e in value if isinstance(e, Mapping)] if isinstance(value, list) else []
    texts = (
        " ".join(part for part in (e.text("text"), e.text("doi") or e.text("url")) if part)
        for e in entries
    )
    return tuple(text for text in texts if text)


def nickname_of(top: Node) -> str:
    """Return the name by which the zoo knows a model."""
    config = top.given.get("config")
    inner = config.get("bioimageio") if isinstance(config, Mapping) else None
    nickname = inner.get("nickname") if isinstance(inner, Mapping) else None
    return str(nickname or "") or top.text("id")


def tolerances_of(top: Node) -> tuple[Tolerance, ...]:
    """Return how far ONNX results may differ from the test tensors."""
    config = top.given.get("config")
    inner = config.get("bioimageio") if isinstance(config, Mapping) else None
    if not isinstance(inner, Mapping):
        return ()
    node = Node(inner, "config.bioimageio")
    entries = [n for n in node.nodes("reproducibility_tolerance") if _for_onnx(n)]
    old = inner.get("test_kwargs")
    if isinstance(old, Mapping) and isinstance(old.get("onnx"), Mapping):
        entries.append(Node(old["onnx"], "config.bioimageio.test_kwargs.onnx"))
    return tuple(map(_tolerance, entries))


def extra_of(top: Node) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return entries for people, and a note on those that are not known."""
    unknown = [key for key in top.given if key not in KNOWN]
    extra = {key: _told(top.given[key]) for key in (*_SHOWN, *unknown) if top.has(key)}
    if not unknown:
        return extra, ()
    names = ", ".join(f"'{shortened(key, 40)}'" for key in unknown[:5])
    return extra, (f"The description holds entries that are not known and not used: {names}.",)


def _for_onnx(node: Node) -> bool:
    formats = node.texts("weights_formats")
    return not formats or "onnx" in formats


def _tolerance(node: Node) -> Tolerance:
    plain = Tolerance()
    given = (
        node.number("relative_tolerance"),
        node.number("absolute_tolerance"),
        node.number("mismatched_elements_per_million"),
    )
    defaults = plain.relative, plain.absolute, plain.per_million
    numbers = [d if g is None else g for g, d in zip(given, defaults, strict=True)]
    return Tolerance(numbers[0], numbers[1], numbers[2], node.texts("output_ids"))


def _told(value: Any) -> str:
    return shortened(str(value), 500)
