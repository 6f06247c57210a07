"""Standard output for results, standard error for everything said along the way."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

NO_READER = 141
"""Exit code when nobody reads the output any more, as shells give it (128 + SIGPIPE)."""


@cache
def errors() -> Console:
    """Return the console on standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(markup: str, text: str = "") -> None:
    """Print a line on standard error: our own markup, then text taken literally."""
    errors().print(markup + escape(text))


def show(text: str, end: str = "\n") -> None:
    """Print plain text on standard output; end quietly when its reader has gone."""
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushed at the very end
        raise typer.Exit(NO_READER) from error


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under column titles on standard output."""
    console = Console(highlight=False)
    with console.capture() as drawn:
        console.print(_table(columns, rows))
    show(drawn.get().removesuffix("\n"))


def typed(name: object) -> str:
    """Return a name or path as it is typed in a command: in quotes where it has a space."""
    text = str(name)
    return f'"{text}"' if any(mark in text for mark in " \t&;()|<>*?$") else text


def say_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under column titles on standard error."""
    errors().print(_table(columns, rows))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for place, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    return table


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object, the only thing on standard output."""
    show(json.dumps(content, ensure_ascii=False, indent=2, default=as_plain))


def as_plain(value: Any) -> Any:
    """Return numpy numbers as Python ones and everything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
