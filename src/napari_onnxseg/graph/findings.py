"""What a check found: one record a finding, one report a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Worst first."""

NAMED = 5
"""Names of operators or tensors that are listed before the rest is counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a model file.

    Parameters
    ----------
    severity : {"error", "warning", "info"}
        An error keeps the model from running or makes its answer wrong; a warning costs
        speed, freedom or seamless tiles.
    code : str
        Stable short name, such as ``"sides-fixed"``.
    title : str
        What was found, in one sentence.
    meaning : str
        What it means for the picture.
    export : str
        How to export the model again without it; empty when there is nothing to do.
    mendable : bool
        Whether `mend` can write a copy without it.
    """

    severity: Severity
    code: str
    title: str
    meaning: str
    export: str = ""
    mendable: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was found in a file.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    findings : tuple of Finding
        Worst first.
    """

    path: Path
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.of("error")

    @property
    def codes(self) -> frozenset[str]:
        """The short names of all findings."""
        return frozenset(finding.code for finding in self.findings)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity.

        Parameters
        ----------
        severity : {"error", "warning", "info"}
            Which ones.

        Returns
        -------
        tuple of Finding
            In the order of the report.
        """
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def verdict(self) -> str:
        """The report in a line, such as ``"net.onnx: 1 error, 2 warnings"``."""
        severities: tuple[Severity, ...] = ("error", "warning")
        counts = [
            f"{number} {kind}{'s' * (number != 1)}"
            for kind in severities
            if (number := len(self.of(kind)))
        ]
        return f"{self.path.name}: {', '.join(counts) or 'no errors, no warnings'}"

    def to_json(self) -> dict[str, Any]:
        """Return the report in JSON-able form.

        Returns
        -------
        dict of str to object
            Path, whether it is free of errors, and all findings.
        """
        findings = [asdict(finding) for finding in self.findings]
        return {"path": str(self.path), "ok": self.ok, "findings": findings}


def report(path: Path, findings: Iterable[Finding]) -> Report:
    """Sort findings into a report.

    Parameters
    ----------
    path : Path
        The ``.onnx`` file.
    findings : iterable of Finding
        In any order.

    Returns
    -------
    Report
        Worst first, otherwise in the order given.
    """
    found = sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
    return Report(path, tuple(found))


def listed(names: Iterable[str]) -> str:
    """Return names as text: the first few, and how many more there are."""
    found = list(dict.fromkeys(names))
    rest = len(found) - NAMED
    return ", ".join(found[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
