"""Questions that are put to the user in dialogs of the system."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtWidgets import QFileDialog, QMessageBox, QWidget

from napari_onnxseg.plugin.choosers import MODEL_FILES


def agreed(parent: QWidget, title: str, question: str, yes: str) -> bool:
    """Ask whether to do something that cannot be undone.

    Parameters
    ----------
    parent : QWidget
        In front of which to ask.
    title, question : str
        What would be done.
    yes : str
        What the button says that does it.

    Returns
    -------
    bool
        True when the user wants it.
    """
    box = QMessageBox(QMessageBox.Icon.Question, title, question, parent=parent)
    button = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    box.exec()
    return bool(box.clickedButton() is button)


def model_to_open(parent: QWidget) -> Path | None:
    """Ask for a model file.

    Parameters
    ----------
    parent : QWidget
        In front of which to ask.

    Returns
    -------
    Path or None
        The file; None when the user thinks better of it.
    """
    path, _filter = QFileDialog.getOpenFileName(parent, "Add a model", "", MODEL_FILES)
    return Path(path) if path else None


def model_to_write(parent: QWidget, proposed: Path) -> Path | None:
    """Ask where to write a model.

    Parameters
    ----------
    parent : QWidget
        In front of which to ask.
    proposed : Path
        Where it would go.

    Returns
    -------
    Path or None
        The file; None when the user thinks better of it.
    """
    path, _filter = QFileDialog.getSaveFileName(
        parent, "Write a mended copy", str(proposed), "ONNX models (*.onnx)"
    )
    return Path(path) if path else None
