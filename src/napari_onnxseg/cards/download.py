"""Bring a published model into the user's folder, checked."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pooch

from napari_onnxseg.cards.belongings import part_path
from napari_onnxseg.cards.catalog import user_folder
from napari_onnxseg.cards.fetch import LARGEST_BYTES, TIMEOUT_S, Transfer, fetch
from napari_onnxseg.cards.offers import Offer, offer
from napari_onnxseg.cards.pins import read_pin, require_pinned, write_pin
from napari_onnxseg.errors import ChoiceError, DownloadError, OnnxSegError

__all__ = ["Transfer", "download", "offer"]

OFFLINE_VARIABLE = "ONNXSEG_OFFLINE"
MIRROR_VARIABLE = "ONNXSEG_MIRROR"

SLACK_BYTES = 1 << 20
"""How much longer than its known size a file may be; its hash is asked for in the end."""


def download(
    offered: Offer,
    *,
    mirror: str | None = None,
    accept_non_commercial: bool = False,
    offline: bool | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Generator[Transfer, None, Path]:
    """Bring a published model into the user's folder.

    The file takes its name only when it is complete and has the hash that its publisher
    states. Its SHA-256 is then recorded beside it and asked for at every use. A file that
    is there already is checked instead. Closing the generator ends the transfer; the next
    one goes on from there.

    Parameters
    ----------
    offered : Offer
        From `offer`; show its ``terms()`` first.
    mirror : str, optional
        Address of a folder that holds the published files under their names; otherwise
        ``$ONNXSEG_MIRROR``, otherwise the publisher's.
    accept_non_commercial : bool
        Needed for models that must not be used commercially.
    offline : bool, optional
        Use no network; otherwise ``$ONNXSEG_OFFLINE``.
    timeout_s : float
        Longest silence of the server, seconds.

    Returns
    -------
    Path
        The ``.onnx`` file.

    Yields
    ------
    Transfer
        About ten times a second.

    Raises
    ------
    ChoiceError
        When the terms are not accepted, or the mirror is no address.
    DownloadError
        In one sentence: no network, no such file, no room, or not the published file.
    """
    path = user_folder() / f"{offered.name}.onnx"
    try:
        if path.exists():
            _recognise(path, offered)
            return path
        _require_accepted(offered, accept_non_commercial)
        _require_online(offered, path, offline)
        url = address(offered, mirror)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = part_path(path)
        most = offered.size_bytes + SLACK_BYTES if offered.size_bytes else LARGEST_BYTES
        trusted = url != offered.url
        yield from fetch(url, part, timeout_s=timeout_s, trusted=trusted, most_bytes=most)
        size = part.stat().st_size
        yield Transfer(size, size, "checking")
        _settle(part, path, offered, url)
        write_pin(path, _sha256(path))
    except OnnxSegError:
        raise
    except OSError as fault:
        raise _disk_fault(fault, path) from fault
    return path


def address(offered: Offer, mirror: str | None = None) -> str:
    """Return where a published file is fetched from.

    Parameters
    ----------
    offered : Offer
        The model.
    mirror : str, optional
        As for `download`.

    Returns
    -------
    str
        The URL.

    Raises
    ------
    ChoiceError
        When the mirror is no http or https address.
    """
    base = mirror or os.environ.get(MIRROR_VARIABLE, "")
    if not base:
        return offered.url
    place = urlsplit(base)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise ChoiceError(
            f"The mirror '{base}' is not an address; write one such as https://example.org/models."
        )
    return f"{base.rstrip('/')}/{offered.file}"


def _recognise(path: Path, offered: Offer) -> None:
    """Accept a file that is there already, or raise when it is not the published one."""
    if read_pin(path):
        require_pinned(path, _sha256(path))
        return
    algorithm, stated = offered.checksum.split(":")
    if pooch.file_hash(str(path), alg=algorithm) != stated:
        raise DownloadError(
            f"'{path}' is there already and is not the published '{offered.name}'; give it "
            f"another name, or delete it with 'onnxseg models remove {offered.name}'."
        )
    write_pin(path, _sha256(path))


def _require_accepted(offered: Offer, accepted: bool) -> None:
    if offered.non_commercial and not accepted:
        raise ChoiceError(
            f"'{offered.name}' must not be used commercially (licence: {offered.licence}); to "
            "accept that, say --non-commercial or accept_non_commercial=True."
        )


def _require_online(offered: Offer, path: Path, offline: bool | None) -> None:
    if offline is None:
        said = os.environ.get(OFFLINE_VARIABLE, "").lower()
        offline = said not in ("", "0", "false", "no", "off")
    if offline:
        raise DownloadError(
            f"Downloads are switched off ({OFFLINE_VARIABLE}); get {offered.url} on another "
            f"computer and save it as {path}, then run 'onnxseg models download {offered.name}' "
            "again to check it."
        )


def _settle(part: Path, path: Path, offered: Offer, url: str) -> None:
    """Let pooch compare the hash and give the file its name; a wrong file is deleted."""
    with _silence_of_pooch():
        try:
            pooch.retrieve(
                url,
                offered.checksum,
                fname=path.name,
                path=path.parent,
                downloader=partial(_hand_over, part),
            )
        except ValueError:
            raise DownloadError(
                f"What came from '{url}' is not the published '{offered.name}' "
                f"({offered.checksum} is stated) and was deleted; try again, or use another mirror."
            ) from None


def _hand_over(part: Path, url: str, output: Any, origin: Any) -> None:
    """Give pooch the finished file in place of a download of its own."""
    os.replace(part, output)


@contextmanager
def _silence_of_pooch() -> Iterator[None]:
    """Keep its remarks about where it saves files from standard error."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _disk_fault(fault: OSError, path: Path) -> DownloadError:
    if fault.errno == errno.ENOSPC:
        return DownloadError(
            f"The disk of '{path.parent}' is full; make room and start the download again, which "
            "goes on from there, or set ONNXSEG_MODELS to a folder on another disk."
        )
    return DownloadError(
        f"'{path}' cannot be written: {fault.strerror or fault}; set ONNXSEG_MODELS to a folder "
        "that you may write to."
    )
