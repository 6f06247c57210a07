"""How the results of images are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from napari_onnxseg.errors import ChoiceError
from napari_onnxseg.pipeline.folder_find import Found
from napari_onnxseg.pipeline.folder_job import DEFAULT_NAME, FORMATS

FIELDS = ("stem", "name", "parent", "model", "index", "suffix")
"""What a pattern of names may hold between braces."""

SUFFIXES = (".png", ".tif", ".tiff", ".npy")
"""Ends of names that stand for a format of results."""

REFUSED = (".jpg", ".jpeg", ".bmp", ".gif", ".webp")
"""Ends of names that stand for formats which lose something."""

_ALLOWED = ", ".join(f"{{{field}}}" for field in FIELDS)
_FORBIDDEN = '<>:"|?*\\'
_LONG = (".nii.gz", ".ome.zarr", ".zarr", ".nii")


@dataclass(frozen=True, slots=True)
class NamePattern:
    """How results are called.

    Parameters
    ----------
    text : str
        Such as ``"{stem}-{model}{suffix}"``; a slash makes folders. Without ``{suffix}`` and
        without a suffix that stands for a format, the suffix follows.

    Raises
    ------
    ChoiceError
        When it holds something else, or would lead out of the folder of results.
    """

    text: str = DEFAULT_NAME

    def __post_init__(self) -> None:
        text = self.text.strip()
        self._check(text)
        if "{suffix}" not in text and not text.lower().endswith(SUFFIXES):
            text += "{suffix}"
        object.__setattr__(self, "text", text)

    @property
    def keeps_folders(self) -> bool:
        """Whether sub-folders of the images are kept; ``{parent}`` says where they go."""
        return "{parent" not in self.text

    def path(self, found: Found, *, model: str, index: int, suffix: str) -> Path:
        """Return where a result goes, below the folder of results.

        Parameters
        ----------
        found : Found
            The image.
        model : str
            Name of the model.
        index : int
            Number of the image, from 1.
        suffix : str
            Of the format, with its dot.

        Returns
        -------
        Path
            Relative.
        """
        parent = found.path.parent.name or found.path.absolute().parent.name
        values = {
            "stem": stem_of(found.path), "name": found.path.name, "parent": parent,
            "model": model, "index": index, "suffix": suffix,
        }  # fmt: skip
        named = Path(self.text.format(**values))
        return found.below / named if self.keeps_folders else named

    def _check(self, text: str) -> None:
        """Raise for what is no pattern of names."""
        try:
            parts = list(Formatter().parse(text))
            text.format(**dict.fromkeys(FIELDS, 1))
        except (ValueError, KeyError, IndexError, AttributeError, TypeError) as fault:
            raise ChoiceError(
                f"The name pattern '{text}' cannot be read; {_ALLOWED} may stand between braces."
            ) from fault
        fields = [field for _, field, _, _ in parts if field is not None]
        literal = "".join(part for part, _, _, _ in parts)
        if not set(fields) <= {*FIELDS}:
            raise ChoiceError(f"The name pattern '{text}' may hold {_ALLOWED} only.")
        if text.lower().endswith(REFUSED):
            raise ChoiceError(f"'{text}' cannot hold the result; use {', '.join(FORMATS)}.")
        bad = sorted({c for c in literal if c in _FORBIDDEN or ord(c) < 32})
        if bad:
            raise ChoiceError(f"The name pattern '{text}' holds {bad[0]!r}, which names cannot.")
        steps = text.split("/")
        if not all(step.strip(". ") for step in steps):
            raise ChoiceError(
                f"The name pattern '{text}' must name a file inside the folder of results."
            )


def stem_of(path: Path) -> str:
    """Return a name without the suffix of its format."""
    long = next((end for end in _LONG if path.name.lower().endswith(end)), None)
    return (path.name[: -len(long)] if long else path.stem) or path.name
