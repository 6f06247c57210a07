"""Models dropped on the canvas, or opened from the File menu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import napari
from napari.utils.notifications import show_error, show_info
from qtpy.QtCore import QObject
from qtpy.QtWidgets import QDockWidget

from napari_onnxseg.cards.bioimageio_files import SUFFIXES as DESCRIBED
from napari_onnxseg.cards.bioimageio_files import is_offered
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import SUFFIXES
from napari_onnxseg.plugin.card_jobs import background
from napari_onnxseg.plugin.catalogue import CATALOGUE
from napari_onnxseg.plugin.keys import widgets
from napari_onnxseg.plugin.model_jobs import adding
from napari_onnxseg.plugin.panel import Panel
from napari_onnxseg.plugin.words import error_words
from napari_onnxseg.plugin.worker import Outcome, Watch

PLUGIN = "napari-onnxseg"
WIDGETS = {"semantic": "Segment (U-Net)", "matting": "Cut out (U²-Net)", "image": "Segment (U-Net)"}
"""Widget for each task, as the manifest calls it."""

Paths = str | Sequence[str]


def get_reader(path: Paths) -> Callable[[Paths], list[tuple[None]]] | None:
    """Offer to open models.

    Parameters
    ----------
    path : str or sequence of str
        What was dropped or chosen.

    Returns
    -------
    callable or None
        Opens them; None when not all of them are models, so that another reader gets zip
        and YAML files that hold something else.
    """
    return open_models if all(map(_is_model, _listed(path))) else None


def open_models(paths: Paths) -> list[tuple[None]]:
    """Add models to the user's folder, and select each in the widget for its task.

    That happens off the main thread; what goes wrong is said in a notification.

    Parameters
    ----------
    paths : str or sequence of str
        The files.

    Returns
    -------
    list of tuple
        The sign by which napari knows that files were opened without a layer.
    """
    for path in _listed(paths):
        Arrival(Path(path)).start()
    return [(None,)]


def show_model(viewer: Any, card: ModelCard, name: str) -> Panel:
    """Select a model in the widget for its task, which is opened when it is not.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the widget is docked.
    card : ModelCard
        The model.
    name : str
        Its name in the catalogue.

    Returns
    -------
    Panel
        The widget.
    """
    panel = _open_panel(viewer, card.task) or _new_panel(viewer, card.task)
    panel.model.models.open(name)
    _bring_forward(panel)
    return panel


class Arrival(QObject):
    """A model on its way into the catalogue.

    Parameters
    ----------
    path : Path
        The file.
    """

    pending: ClassVar[set[Arrival]] = set()
    """Those that are not there yet."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._watch = Watch(background(adding, path), self)
        self._watch.ended.connect(self._on_end)

    def start(self) -> None:
        """Begin to copy and read it."""
        Arrival.pending.add(self)
        self._watch.start()

    def _on_end(self, outcome: Outcome) -> None:
        """Show the model, or say why it cannot be used."""
        Arrival.pending.discard(self)
        self.deleteLater()
        viewer = napari.current_viewer()
        if viewer is None or outcome.cancelled:
            return
        if outcome.error is not None:
            show_error(f"'{self._path.name}' was not added: {error_words(outcome.error)}")
            return
        place, card = outcome.value
        CATALOGUE.changed.emit(place.stem)
        CATALOGUE.arrived.emit(place.stem)
        show_model(viewer, card, place.stem)
        show_info(f"'{card.title}' is ready as '{place.stem}'.")


def _is_model(path: str) -> bool:
    """Tell a model by its name; a zip or YAML file is looked into."""
    name = path.lower()
    return is_offered(Path(path)) if name.endswith(DESCRIBED) else name.endswith(SUFFIXES)


def _listed(paths: Paths) -> list[str]:
    return [str(paths)] if isinstance(paths, (str, Path)) else [str(path) for path in paths]


def _open_panel(viewer: Any, task: str) -> Any:
    """Return the widget for a task that was used last."""
    panels = [p for p in widgets(viewer) if isinstance(p, Panel)]
    panels = [p for p in panels if WIDGETS[p.task.name] == WIDGETS[task]]
    return panels[-1] if panels else None


def _new_panel(viewer: Any, task: str) -> Any:
    _dock, panel = viewer.window.add_plugin_dock_widget(PLUGIN, WIDGETS[task])
    return panel


def _bring_forward(panel: Panel) -> None:
    """Show a dock that is hidden, or behind another."""
    holder = panel.parentWidget()
    while holder is not None and not isinstance(holder, QDockWidget):
        holder = holder.parentWidget()
    if holder is not None:
        holder.show()
        holder.raise_()
