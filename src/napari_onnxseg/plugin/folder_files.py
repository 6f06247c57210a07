"""Rows of the folder widget: which images, where results go, how they are called."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from napari_onnxseg.pipeline.folder_job import DEFAULT_NAME, FORMATS, FolderJob
from napari_onnxseg.plugin.choosers import Chooser
from napari_onnxseg.plugin.foot import sentences
from napari_onnxseg.plugin.forms import on_change, side_by_side

REFUSE, KEEP, REPLACE = "refuse", "keep", "replace"


class FolderFiles(QObject):
    """The choices on files.

    Parameters
    ----------
    rows : QFormLayout
        Where the fields go.
    """

    changed = Signal()
    """Emitted when a choice changes."""

    def __init__(self, rows: QFormLayout, parent: QWidget) -> None:
        super().__init__(parent)
        self.inputs = _path_field("drop a folder here, or choose one")
        self.out = _path_field("folder for the results")
        rows.addRow("Images", side_by_side(self.inputs, self._button(self.inputs, "images")))
        rows.addRow("Results", side_by_side(self.out, self._button(self.out, "results")))
        self.name = QLineEdit(DEFAULT_NAME)
        self.name.setToolTip(
            "{stem}, {name}, {parent}, {model}, {index} and {suffix} stand for the image's;\n"
            "a slash makes folders. Sub-folders are kept unless {parent} says where they go."
        )
        self.example: QLabel = sentences()
        self.example.setToolTip("Where the result of the first image goes.")
        rows.addRow("Names", self.name)
        rows.addRow("", self.example)
        self.earlier = Chooser()
        self.earlier.offer(
            [REFUSE, KEEP, REPLACE],
            ["say so, do nothing", "keep, do the rest", "replace them"],
            REFUSE,
        )
        self.earlier.setToolTip("What happens when there are results already.")
        rows.addRow("If done before", self.earlier)

    def more(self, rows: QFormLayout) -> None:
        """Add what is rarely chosen.

        Parameters
        ----------
        rows : QFormLayout
            In the section that is folded away.
        """
        self.pattern = QLineEdit()
        self.pattern.setPlaceholderText("all images; or *.tif, plate1/*.png")
        self.format = Chooser()
        self.format.offer([None, *FORMATS], ["as the image", *FORMATS], None)
        self.at_once = QSpinBox()
        self.at_once.setRange(0, 64)
        self.at_once.setSpecialValueText("half of the cores")
        self.at_once.setToolTip("Images worked on at the same time; large ones run alone.")
        self.summary = QCheckBox("summary.csv")
        self.summary.setToolTip("One row an image: status, files, seconds, pixels of each class.")
        self.summary.setChecked(True)
        rows.addRow("Files", self.pattern)
        rows.addRow("Format", self.format)
        rows.addRow("At once", self.at_once)
        rows.addRow("Also write", self.summary)
        fields = (self.inputs, self.out, self.name, self.earlier, self.pattern, self.format)
        on_change((*fields, self.at_once, self.summary), self.changed)

    @property
    def are_chosen(self) -> bool:
        """Whether there is something to work on and a place for results."""
        return bool(self.inputs.text().strip() and self.out.text().strip())

    def take(self, paths: list[Path]) -> None:
        """Use files or folders that were dropped or chosen, and propose a place for results.

        Parameters
        ----------
        paths : list of Path
            What was dropped.
        """
        if not paths:
            return
        if not self.out.text().strip() or self.out.property("proposed"):
            first = paths[0]
            self.out.setText(str(first.with_name(f"{first.stem}-results")))
            self.out.setProperty("proposed", True)
        self.inputs.setText("; ".join(map(str, paths)))

    def job(self) -> FolderJob:
        """Return the choices.

        Returns
        -------
        FolderJob
            Checked.

        Raises
        ------
        ChoiceError
            When one is outside what is allowed.
        """
        out = Path(self.out.text().strip()).expanduser()
        parts = [part.strip() for part in self.inputs.text().split(";") if part.strip()]
        return FolderJob(
            [Path(part).expanduser() for part in parts],
            out,
            pattern=self.pattern.text().strip() or None,
            name=self.name.text().strip(),
            format=self.format.value,
            at_once=self.at_once.value() or None,
            resume=self.earlier.value == KEEP,
            overwrite=self.earlier.value == REPLACE,
            summary=out / "summary.csv" if self.summary.isChecked() else None,
        )

    def _button(self, field: QLineEdit, what: str) -> QPushButton:
        """Make a button that asks for a folder."""
        button = QPushButton("…")
        button.setFixedWidth(32)
        button.setToolTip(f"Choose the folder of {what}.")
        button.clicked.connect(lambda: self._ask(field, what))
        return button

    def _ask(self, field: QLineEdit, what: str) -> None:
        """Ask for a folder and take it."""
        chosen = QFileDialog.getExistingDirectory(field, f"Folder of {what}", field.text())
        if chosen and field is self.inputs:
            self.take([Path(chosen)])
        elif chosen:
            field.setProperty("proposed", False)
            field.setText(chosen)


def _path_field(hint: str) -> QLineEdit:
    """Make a field for a path."""
    field = QLineEdit()
    field.setPlaceholderText(hint)
    field.setAcceptDrops(False)  # drops go to the widget
    field.textChanged.connect(field.setToolTip)
    return field
