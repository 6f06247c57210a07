"""One large file over HTTP: goes on where it broke off, and says why it could not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from urllib.parse import urljoin, urlsplit

import requests

from napari_onnxseg.errors import DownloadError

TIMEOUT_S = 20.0
"""Longest silence of a server."""

ATTEMPTS = 4
"""How often a transfer that breaks off is taken up again."""

LARGEST_BYTES = 1 << 31
"""An ONNX file cannot be larger."""

_CHUNK_BYTES = 1 << 15
_PAUSE_S = 0.1
_REDIRECTS = 5
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Transfer:
    """One step of a download.

    Parameters
    ----------
    done_bytes : int
        What has arrived.
    total_bytes : int or None
        What is to arrive; None while the server does not say.
    stage : {"downloading", "checking"}
        What is being done.
    """

    done_bytes: int
    total_bytes: int | None
    stage: str = "downloading"


def fetch(
    url: str,
    part: Path,
    *,
    timeout_s: float = TIMEOUT_S,
    trusted: bool = False,
    most_bytes: int = LARGEST_BYTES,
) -> Generator[Transfer, None, None]:
    """Bring a file from the network into an unfinished file.

    What is in the unfinished file already is not fetched again, as far as the server can
    give parts of files. Closing the generator ends the transfer and keeps what arrived.

    Parameters
    ----------
    url : str
        Where the file is.
    part : Path
        The unfinished file; complete once the generator is exhausted.
    timeout_s : float
        Longest silence of the server, seconds.
    trusted : bool
        Whether the user named this server, so that it need not be encrypted.
    most_bytes : int
        What a longer file cannot be; it is refused, and nothing of it is kept.

    Yields
    ------
    Transfer
        About ten times a second.

    Raises
    ------
    DownloadError
        Saying what went wrong, and whether what arrived is kept.
    """
    reason = ""
    with _Session(url, trusted) as session:
        for _ in range(ATTEMPTS):
            try:
                yield from _attempt(session, url, _Part(part, most_bytes), timeout_s)
                return
            except _BrokenOffError as fault:
                reason = str(fault)
    raise DownloadError(
        f"The download of '{url}' broke off {ATTEMPTS} times ({reason}); what arrived is kept, "
        "start it again to go on from there."
    )


class _BrokenOffError(Exception):
    """A transfer ended early; the next attempt may go on."""


class _Session(requests.Session):
    """Follows redirects, but never to where the file could be changed on the way."""

    def __init__(self, url: str, trusted: bool) -> None:
        super().__init__()
        self.max_redirects = _REDIRECTS
        self._plain_hosts = {*_HERE, urlsplit(url).hostname} if trusted else {*_HERE}
        self._require_safe(url)

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None:
            goal = urljoin(resp.url, target)
            self._require_safe(goal, left=resp.url)
        return target

    def _require_safe(self, url: str, left: str = "") -> None:
        place = urlsplit(url)
        plain = place.scheme == "http" and place.hostname in self._plain_hosts
        if place.scheme == "https" or (plain and not left.startswith("https:")):
            return
        raise DownloadError(
            f"'{url}' is not encrypted, so that anyone on the way could change the model; "
            "only https is allowed, and http for a mirror that you name yourself."
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """The unfinished file, and how long it may become."""

    path: Path
    most: int

    def require(self, total: int, url: str) -> None:
        """Raise for a file that is longer than it may be, and keep nothing of it."""
        if total > self.most:
            self.path.unlink(missing_ok=True)
            raise DownloadError(
                f"What '{url}' gives is longer than the {self.most:,} bytes it may have, and was "
                "deleted; name a mirror."
            )


def _attempt(
    session: _Session, url: str, kept: _Part, timeout_s: float
) -> Generator[Transfer, None, None]:
    """Ask once, from where the unfinished file ends."""
    part = kept.path
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with _answer(session, url, headers, timeout_s) as answer:
        span = _span(answer, part, have)
        if span is None:
            return
        _refuse_page(answer, url)
        kept.require(span.total or 0, url)
        _require_room(part, span)
        yield from _receive(answer, kept, span)


def _answer(
    session: _Session, url: str, headers: dict[str, str], timeout_s: float
) -> requests.Response:
    """Return the answer of the server; its body has not been read."""
    try:
        return session.get(url, headers=headers, stream=True, timeout=timeout_s)
    except requests.TooManyRedirects:
        why = f"it redirects more than {_REDIRECTS} times"
    except requests.Timeout:
        why = f"it did not answer within {timeout_s:g} s"
    except requests.exceptions.SSLError:
        why = "its certificate cannot be verified"
    except requests.ConnectionError:
        why = "it cannot be reached, perhaps this computer is offline"
    except requests.RequestException as fault:
        why = str(fault)
    raise DownloadError(
        f"'{url}' cannot be downloaded from '{urlsplit(url).hostname}': {why}; "
        "try again later, or name a mirror."
    ) from None


@dataclass(frozen=True, slots=True)
class _Span:
    """Where the body belongs in the file, and how long that will be."""

    start: int
    total: int | None


def _span(answer: requests.Response, part: Path, have: int) -> _Span | None:
    """Return what the answer holds; None when the file is complete already."""
    code = answer.status_code
    said = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", answer.headers.get("Content-Range", ""))
    if code == requests.codes.ok:
        length = answer.headers.get("Content-Length", "")
        return _Span(0, int(length) if length.isdigit() else None)
    if code == requests.codes.partial and said and said[1] == str(have):
        return _Span(have, int(said[2]))
    if code == requests.codes.requested_range_not_satisfiable and said and said[2] == str(have):
        return None
    if code in (requests.codes.partial, requests.codes.requested_range_not_satisfiable):
        part.unlink(missing_ok=True)
        raise _BrokenOffError("what had arrived before does not fit the file")
    raise _refused(answer)


def _refused(answer: requests.Response) -> DownloadError:
    code, url = answer.status_code, answer.url
    if code in (requests.codes.not_found, requests.codes.gone):
        return DownloadError(
            f"There is no file at '{url}' any more (answer {code}); its publisher has moved it, "
            "get it from another place or name a mirror."
        )
    return DownloadError(
        f"The server refused '{url}' (answer {code} {answer.reason}); try again later, "
        "or name a mirror."
    )


def _refuse_page(answer: requests.Response, url: str) -> None:
    kind = answer.headers.get("Content-Type", "")
    if kind.lower().startswith("text/html"):
        raise DownloadError(
            f"'{url}' gave a web page instead of a model; sign in to the network in a browser "
            "(hotel, guest access), or correct the address of the mirror."
        )


def _require_room(part: Path, span: _Span) -> None:
    needed = (span.total or 0) - span.start
    if shutil.disk_usage(part.parent).free < needed:
        raise DownloadError(
            f"The disk of '{part.parent}' has no room for the {needed / 1e6:.0f} MB that are to "
            "come; make room, or set ONNXSEG_MODELS to a folder on another disk."
        )


def _receive(
    answer: requests.Response, kept: _Part, span: _Span
) -> Generator[Transfer, None, None]:
    """Write the body where it belongs."""
    done, told = span.start, -_PAUSE_S
    limit = replace(kept, most=min(span.total or kept.most, kept.most))
    with kept.path.open("r+b" if span.start else "wb") as file:
        file.seek(span.start)
        for chunk in _chunks(answer):
            file.write(chunk)
            done += len(chunk)
            if done > limit.most:
                file.close()
                limit.require(done, answer.url)
            if monotonic() - told >= _PAUSE_S:
                told = monotonic()
                yield Transfer(done, span.total)
    if done < (span.total or 0):
        raise _BrokenOffError(f"after {done} of {span.total} bytes")
    yield Transfer(done, span.total or done)


def _chunks(answer: requests.Response) -> Iterator[bytes]:
    """Yield the body as it comes; a broken connection is one of our faults."""
    try:
        yield from answer.iter_content(_CHUNK_BYTES)
    except requests.RequestException as fault:
        silent = "timed out" in str(fault)
        reason = "the server fell silent" if silent else "the connection was lost"
        raise _BrokenOffError(reason) from fault
