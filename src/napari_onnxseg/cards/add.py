"""Copy a model, with its card and its weights, into the user's folder."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from napari_onnxseg.cards.bioimageio_pack import packed
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import SUFFIXES, bundled_folder, user_folder
from napari_onnxseg.cards.fetch import Transfer
from napari_onnxseg.cards.native import is_card
from napari_onnxseg.cards.read import load_card
from napari_onnxseg.cards.sources import locate
from napari_onnxseg.errors import FileFormatError, ModelError, OnnxSegError

_CHUNK_BYTES = 1 << 22


def add(model: str | Path) -> Generator[Transfer, None, Path]:
    """Copy a model into the user's folder, so that it can be used by name.

    Nothing is overwritten: a model of other content under the same name gets a number. The
    copy takes its name when it is complete; closing the generator leaves nothing behind.

    Parameters
    ----------
    model : str or Path
        The ``.onnx`` file, the package, or its card; the folder or description of a
        bioimage.io model is kept as a zip file.

    Returns
    -------
    Path
        The file in the catalogue; a model that is there already is not copied.

    Yields
    ------
    Transfer
        After each piece.

    Raises
    ------
    ModelError
        When the file is no model that can be run, or its weights would overwrite others.
    FileFormatError
        When it cannot be copied.
    """
    file = packed(Path(model))
    card = load_card(file)
    named = locate(file).given
    if named.parent in (user_folder(), bundled_folder()):
        return named
    place, there = _place(named, card)
    if not there:
        yield from _copied(_Copy(named, card, place))
    return place


@dataclass(frozen=True, slots=True)
class _Copy:
    """What is copied where; the model comes last, since it makes the copy known."""

    named: Path
    card: ModelCard
    place: Path

    def pairs(self) -> Iterator[tuple[Path, Path]]:
        """Yield each file and its place."""
        if self.named == self.card.path:
            for name in self.card.side_files:
                yield self.named.parent / name, self.place.parent / name
        card = self.named.with_suffix(".json")
        if is_card(card):
            yield card, self.place.with_suffix(".json")
        yield self.named, self.place


def _place(named: Path, card: ModelCard) -> tuple[Path, bool]:
    """Return a free place in the user's folder, or that of the same model and True."""
    for number in count(1):
        name = named.stem + (f"-{number}" if number > 1 else "")
        models = [
            folder / f"{name}{suffix}"
            for folder in (user_folder(), bundled_folder())
            for suffix in SUFFIXES
        ]
        same = [path for path in models if path.exists() and _is_same(path, card)]
        if same:
            return same[0], True
        place = user_folder() / f"{name}{named.suffix.lower()}"
        if not any(path.exists() for path in (*models, place.with_suffix(".json"))):
            return place, False
    raise AssertionError


def _is_same(path: Path, card: ModelCard) -> bool:
    """Tell whether a model of the catalogue has the same content."""
    try:
        return load_card(path).sha256 == card.sha256
    except OnnxSegError:
        return False


def _copied(copy: _Copy) -> Generator[Transfer, None, None]:
    """Copy all files, or none."""
    pairs = [(old, new) for old, new in copy.pairs() if not _is_there(old, new)]
    total, done = sum(old.stat().st_size for old, _ in pairs), 0
    unfinished: list[Path] = []
    finished: list[Path] = []
    complete = False
    try:
        for old, new in pairs:
            new.parent.mkdir(parents=True, exist_ok=True)
            unfinished.append(new.with_name(f".{new.name}.part"))
            for size in _pieces(old, unfinished[-1]):
                done += size
                yield Transfer(done, total, "copying")
        for part, (_, new) in zip(unfinished, pairs, strict=True):
            os.replace(part, new)
            finished.append(new)
        complete = True
    except OSError as fault:
        raise FileFormatError(
            f"'{copy.place}' cannot be written: {fault.strerror or fault}; make room there, or "
            "set ONNXSEG_MODELS to a folder that you may write to."
        ) from fault
    finally:
        for path in unfinished + ([] if complete else finished):
            path.unlink(missing_ok=True)


def _is_there(old: Path, new: Path) -> bool:
    """Tell whether a side file needs no copy; refuse to write over another one."""
    if not new.exists():
        return False
    if old.stat().st_size == new.stat().st_size and old.read_bytes() == new.read_bytes():
        return True
    raise ModelError(
        f"The weights file '{new.name}' of '{old.parent}' exists in '{new.parent}' already with "
        "other content; put the weights into the model with 'onnxseg models mend --external in'."
    )


def _pieces(old: Path, new: Path) -> Iterator[int]:
    """Copy a file, giving the bytes of each piece."""
    with old.open("rb") as source, new.open("wb") as target:
        while piece := source.read(_CHUNK_BYTES):
            target.write(piece)
            yield len(piece)
