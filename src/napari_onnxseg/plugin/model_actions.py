"""What can be done with the selected model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari.layers import Image
from qtpy.QtCore import QObject

from napari_onnxseg.cards.belongings import belongings, remove
from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.catalog import ModelSummary, user_folder
from napari_onnxseg.cards.download import address
from napari_onnxseg.cards.offers import offer
from napari_onnxseg.errors import FileFormatError, OnnxSegError
from napari_onnxseg.graph.findings import Report
from napari_onnxseg.plugin import ask
from napari_onnxseg.plugin.card_editor import CardEditor
from napari_onnxseg.plugin.card_jobs import background, saving
from napari_onnxseg.plugin.catalogue import CATALOGUE
from napari_onnxseg.plugin.keys import widgets
from napari_onnxseg.plugin.layers import named_channel_axis
from napari_onnxseg.plugin.model_jobs import (
    Trial,
    adding,
    checking,
    downloading,
    mending,
    trying,
)
from napari_onnxseg.plugin.report_window import ReportWindow
from napari_onnxseg.plugin.report_words import mended_text
from napari_onnxseg.plugin.results import insert_above
from napari_onnxseg.plugin.terms_dialog import TermsDialog
from napari_onnxseg.plugin.trying import active_image, refuse_volumes
from napari_onnxseg.plugin.visible import visible_part
from napari_onnxseg.runtime.session import devices_of, release

if TYPE_CHECKING:
    from napari_onnxseg.plugin.models_widget import ModelsWidget

TEST_PX = 1024 * 1024
"""Most pixels on which a model is tried."""


class ModelActions(QObject):
    """The buttons of the models widget, and what they do.

    Parameters
    ----------
    widget : ModelsWidget
        Which model is selected, and where to say how it went.
    """

    def __init__(self, widget: ModelsWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        for name, button in widget.foot.buttons.items():
            button.clicked.connect(getattr(self, name))

    @property
    def summary(self) -> ModelSummary | None:
        """The selected model."""
        return self._widget.summary

    @property
    def card(self) -> ModelCard | None:
        """Its card, once it has been read, with the answers that are selected."""
        return self._widget.questions.card or self._widget.card

    def enable(self) -> None:
        """Let only those buttons be pressed that can do something."""
        summary, card = self.summary, self.card
        here = summary is not None and summary.source != "downloadable"
        can = {
            "add": True,
            "download": summary is not None and not here,
            "test": card is not None and self._image() is not None,
            "check": here and not self._widget.is_reading,
            "edit": card is not None,
            "unload": card is not None and bool(devices_of(card.path)),
            "remove": here and summary is not None and summary.source == "user",
        }
        idle = not self._widget.jobs.is_busy
        for name, button in self._widget.foot.buttons.items():
            button.setEnabled(idle and can[name])

    def add(self) -> None:
        """Ask for a file, and copy it into the user's folder."""
        path = ask.model_to_open(self._widget)
        if path is not None:
            self.add_file(path)

    def add_file(self, path: Path) -> None:
        """Copy a model into the user's folder, and select it.

        Parameters
        ----------
        path : Path
            The file.
        """
        self._start(f"Adding '{path.name}'", adding, path, then=self._on_added)

    def download(self) -> None:
        """Show the terms of the selected model, and bring it here once they are accepted."""
        assert self.summary is not None
        offered = offer(self.summary.name)
        try:
            where = address(offered)
        except OnnxSegError as error:
            self._say(str(error), wrong=True)
            return
        terms = TermsDialog(offered, where, str(user_folder()), self._widget)
        accepted = bool(terms.exec())
        terms.deleteLater()
        if accepted:
            title = f"Downloading '{offered.name}'"
            self._start(title, downloading, offered, accepted, then=self._on_added)

    def test(self) -> None:
        """Run the model on what the canvas shows of the active image."""
        layer, card, summary = self._image(), self.card, self.summary
        assert layer is not None
        assert card is not None
        assert summary is not None
        axis = self.channel_axis(layer)
        try:
            refuse_volumes(card)
            part = visible_part(layer, self._widget.viewer, channel_axis=axis, limit_px=TEST_PX)
        except OnnxSegError as error:
            self._say(str(error), wrong=True)
            return
        steps = background(trying, part, card, summary.path, axis)
        self._widget.jobs.run(f"Test of {card.name} on {layer.name}", steps, self._on_tried)

    def check(self) -> None:
        """Examine the model and try it out."""
        assert self.summary is not None
        path = self.summary.path if self.card is None else self.card.path
        title = f"Checking '{self.summary.name}'"
        self._start(title, checking, path, self.card, then=self._on_checked)

    def mend(self) -> None:
        """Ask where to, and write a mended copy of the model."""
        assert self.summary is not None
        path = self.summary.path if self.card is None else self.card.path
        folder = user_folder()
        folder.mkdir(parents=True, exist_ok=True)
        proposed = folder / f"{self.summary.name}-mended.onnx"
        out = ask.model_to_write(self._widget, proposed)
        if out is not None:
            title = f"Mending '{self.summary.name}'"
            steps = background(mending, path, self.card, out)
            self._widget.jobs.start(title, steps, self._on_mended, can_cancel=False)

    def edit(self) -> None:
        """Open the form in which the card is corrected."""
        assert self.card is not None
        editor = CardEditor(self.card, self._widget)
        editor.saved.connect(self.save)
        editor.open()

    def save(self, card: ModelCard) -> None:
        """Write an edited card, and use it at once.

        Parameters
        ----------
        card : ModelCard
            From the editor.
        """
        if self.summary is not None:
            title = f"Saving the card of '{card.name}'"
            steps = background(saving, card, self.summary.path)
            self._widget.jobs.start(title, steps, self._on_saved, can_cancel=False)

    def unload(self) -> None:
        """Free the memory that the model takes."""
        if self.card is not None:
            release(self.card.sha256)
            self._say(f"'{self.card.name}' was unloaded; the next run loads it again.")
        self._widget.show_states()

    def remove(self) -> None:
        """Delete the model from the user's folder, after a question."""
        assert self.summary is not None
        name = self.summary.name
        try:
            files = belongings(name)
            listed = "\n".join(path.name for path in files)
            question = f"Delete '{name}' from {files[0].parent}?\n\n{listed}"
            if not ask.agreed(self._widget, "Remove a model", question, "Delete"):
                return
            if self.card is not None:
                release(self.card.sha256)
            _delete(name)
        except OnnxSegError as error:
            self._say(str(error), wrong=True)
            return
        self._say(f"'{name}' was removed.")
        CATALOGUE.changed.emit(name)

    def _start(self, title: str, work: Any, *given: Any, then: Any) -> None:
        self._widget.jobs.start(title, background(work, *given), then)

    def _image(self) -> Image | None:
        """Return the active layer when it is an image."""
        return active_image(self._widget.viewer)

    def channel_axis(self, layer: Image) -> int | None:
        """Return the channel axis that an open widget has for a layer, else the named one."""
        for panel in reversed(widgets(self._widget.viewer)):
            rows = getattr(panel, "image", None)
            if rows is not None and rows.layer is layer:
                axis: int | None = rows.channel.value
                return axis
        return named_channel_axis(layer)

    def _on_added(self, added: tuple[Path, ModelCard]) -> None:
        """Select a model that is in the catalogue now."""
        place, card = added
        self._say(f"'{card.title}' is ready as '{place.stem}'.")
        CATALOGUE.changed.emit(place.stem)
        self._widget.refresh(place.stem)

    def _on_tried(self, trial: Trial) -> None:
        """Show what the model made of the view."""
        layers = trial.layers()
        insert_above(self._widget.viewer, trial.placement.source.layer(), layers)
        self._say("\n".join((trial.words(), *trial.result.notes)))
        self._widget.show_states()

    def _on_checked(self, report: Report) -> None:
        """Open the report."""
        title = self.summary.title if self.summary else report.path.name
        self._say(report.verdict + ".")
        window = ReportWindow(report, title, self._widget)
        window.mend.connect(self.mend)
        window.show()

    def _on_mended(self, mended: tuple[Any, Any]) -> None:
        """Say what was mended, and list the copy when it is in the user's folder."""
        copy, beside = mended
        self._say(mended_text(copy, beside))
        if copy.path.parent == user_folder():
            CATALOGUE.changed.emit(copy.path.stem)
            self._widget.refresh(copy.path.stem)

    def _on_saved(self, place: Path) -> None:
        """Use the card at once, in all widgets."""
        self._say(f"The card was saved as {place}.")
        if self.summary is not None:
            CATALOGUE.changed.emit(self.summary.name)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self._widget.foot.show_status(text, wrong=wrong)


def _delete(name: str) -> None:
    """Delete a model; say in a sentence when the system does not let us."""
    try:
        remove(name)
    except OnnxSegError:
        raise
    except OSError as fault:
        raise FileFormatError(
            f"'{name}' cannot be deleted: {fault.strerror or fault}; close what uses it, or "
            f"delete it in {user_folder()}."
        ) from fault
