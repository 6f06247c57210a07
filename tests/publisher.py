"""A publisher of files on this computer, as good or as bad as a test wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass
class Publisher:
    """What it holds, how it behaves, and what it was asked for.

    ``breaks`` holds, for each request to come, after how many bytes of the body the
    connection is lost; ``stalls`` likewise after how many bytes it falls silent. ``piece`` is
    the most that it gives when it is asked for a part.
    """

    content: bytes
    ranges: bool = True
    status: int = 200
    kind: str = "application/octet-stream"
    breaks: list[int] = field(default_factory=list)
    stalls: list[int] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    length_said: bool = True
    range_said: str = ""
    piece: int | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    released: Event = field(default_factory=Event)
    host: str = "127.0.0.1"
    port: int = 0

    def __enter__(self) -> Publisher:
        self._server = _Server((self.host, 0), _Handler)
        self._server.publisher = self
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def starts(self) -> list[str | None]:
        """The range of each request."""
        return [span for _, span in self.asked]


class _Server(ThreadingHTTPServer):
    publisher: Publisher

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        here = self.server.publisher
        span = self.headers.get("Range")
        here.asked.append((self.path, span))
        if self.path in here.redirects:
            self.send_response(302)
            self.send_header("Location", here.redirects[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if here.status != 200:
            self.send_error(here.status)
            return
        start = int(re.findall(r"\d+", span)[0]) if span and here.ranges else 0
        if start and start >= len(here.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(here.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._send(here, start)

    def _send(self, here: Publisher, start: int) -> None:
        body = here.content[start:][: here.piece if start else None]
        self.send_response(206 if start else 200)
        self.send_header("Content-Type", here.kind)
        if start:
            said = f"bytes {start}-{start + len(body) - 1}/{len(here.content)}"
            said = here.range_said or said
            self.send_header("Content-Range", said)
        if here.length_said:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if here.breaks:
            self.wfile.write(body[: here.breaks.pop(0)])
        elif here.stalls:
            self.wfile.write(body[: here.stalls.pop(0)])
            self.wfile.flush()
            here.released.wait()
        else:
            self.wfile.write(body)
        self.close_connection = True
