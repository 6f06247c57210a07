"""Findings about a model file, as text to copy and as HTML to look at."""

from __future__ import annotations

from html import escape

from napari_onnxseg.graph.findings import Finding, Report, Severity
from napari_onnxseg.graph.mend import Mended
from napari_onnxseg.plugin.foot import ERROR_COLOUR
from napari_onnxseg.plugin.model_details import GUESS_COLOUR
from napari_onnxseg.runtime.compare import Comparison

SEVERITY_WORDS: dict[Severity, str] = {"error": "Error", "warning": "Warning", "info": "Note"}
SEVERITY_COLOURS: dict[Severity, str] = {
    "error": ERROR_COLOUR,
    "warning": GUESS_COLOUR,
    "info": "#5b8def",
}
"""Colours that read on dark and on light themes."""


def can_mend(report: Report) -> bool:
    """Tell whether a mended copy would be better.

    Parameters
    ----------
    report : Report
        The findings.

    Returns
    -------
    bool
        True when any error or warning can be mended.
    """
    return any(found.mendable and found.severity != "info" for found in report.findings)


def report_text(report: Report) -> str:
    """Write a report as plain text.

    Parameters
    ----------
    report : Report
        The findings.

    Returns
    -------
    str
        Verdict and findings, worst first.
    """
    return "\n\n".join((report.verdict, *map(_text, report.findings))) + "\n"


def report_html(report: Report) -> str:
    """Write a report as HTML.

    Parameters
    ----------
    report : Report
        The findings.

    Returns
    -------
    str
        Verdict and findings, worst first, the severity in colour.
    """
    return f"<p><b>{escape(report.verdict)}</b></p>" + "".join(map(_html, report.findings))


def mended_text(mended: Mended, beside: Comparison) -> str:
    """Say what was mended, what was left, and how the answers differ.

    Parameters
    ----------
    mended : Mended
        The copy.
    beside : Comparison
        Its answers beside those of the original.

    Returns
    -------
    str
        One sentence a line.
    """
    done = [f"Mended: {words}." for words in mended.done] or ["There was nothing to mend."]
    left = [f"Left as it is, {words}." for words in mended.left]
    return "\n".join((f"'{mended.path.name}' was written.", *done, *left, beside.words()))


def _text(found: Finding) -> str:
    lines = [f"{SEVERITY_WORDS[found.severity]} ({found.code}): {found.title}", found.meaning]
    if _is_mended(found):
        lines.append("A mended copy can be written without it.")
    if _tells_export(found):
        lines += ["To export again:", *found.export.splitlines()]
    return "\n    ".join(lines)


def _html(found: Finding) -> str:
    colour = SEVERITY_COLOURS[found.severity]
    parts = [
        f"<p style='margin: 10px 0 0 0'><span style='color: {colour}'><b>"
        f"{SEVERITY_WORDS[found.severity]}</b></span> &nbsp;{escape(found.title)}</p>",
        f"<p style='margin: 2px 0 0 16px'>{escape(found.meaning)}</p>",
    ]
    if _is_mended(found):
        parts.append("<p style='margin: 2px 0 0 16px'>A mended copy can be written without it.</p>")
    if _tells_export(found):
        parts.append(
            "<p style='margin: 4px 0 0 16px'>To export again:</p>"
            f"<pre style='margin: 2px 0 0 32px'>{escape(found.export)}</pre>"
        )
    return "".join(parts)


def _is_mended(found: Finding) -> bool:
    return found.mendable and found.severity != "info"


def _tells_export(found: Finding) -> bool:
    return bool(found.export) and found.severity != "info"
