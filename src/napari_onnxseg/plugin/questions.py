"""At most three questions about a model that nobody has described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from qtpy.QtCore import Signal
from qtpy.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from napari_onnxseg.cards.card import ModelCard
from napari_onnxseg.cards.questions import (
    TOPICS,
    Look,
    Topic,
    answered,
    guess_notes,
    looks,
    questions,
)
from napari_onnxseg.plugin.class_names import CLEAR
from napari_onnxseg.plugin.foot import sentences
from napari_onnxseg.plugin.forms import later
from napari_onnxseg.plugin.glimpses import Glimpses, View
from napari_onnxseg.plugin.model_details import GUESS_COLOUR, faint
from napari_onnxseg.plugin.question_sheet import QuestionSheet

ORDERS = ("RGB", "BGR")
LOOK_DELAY_MS = 250
"""Quiet time after a change before small pictures are made anew."""

COMPARE = "Select the one whose small picture of the view looks right."
NO_VIEW = "Open an image to compare what each leads to."


class Questions(QFrame):
    """Asks what nobody has said about a model; the guesses are selected.

    Answers count at once; kept ones are written on the model's card and not asked again.

    Parameters
    ----------
    view : callable
        Returns what the small pictures are made of, None when there is nothing.
    """

    changed = Signal()
    """Emitted when an answer is different."""

    kept = Signal(object)
    """Emitted with the `ModelCard` that is to be saved."""

    skipped: ClassVar[set[str]] = set()
    """Hashes of the models whose guesses are to be used, until the program ends."""

    def __init__(self, view: Callable[[], View | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self.given: ModelCard | None = None
        self._card: ModelCard | None = None
        self._topics: tuple[Topic, ...] = ()
        self._looks: tuple[Look, ...] = ()
        self.glimpses = Glimpses(self)
        self._looking = later(self, LOOK_DELAY_MS, self.look)
        self._lay_out()
        self._connect()
        self.show_card(None)

    @property
    def card(self) -> ModelCard | None:
        """The model as the answers describe it; None when nothing is asked."""
        return None if self._card is None else self._answered(())

    @property
    def spoken(self) -> tuple[str, ...]:
        """Notes of the card that the open questions say better."""
        return guess_notes(self._card) if self._card is not None and self.is_open else ()

    @property
    def has_questions(self) -> bool:
        """Whether anything is asked, or was put off."""
        return self._card is not None

    @property
    def is_open(self) -> bool:
        """Whether there are questions that were not put off."""
        return self._card is not None and self._card.sha256 not in self.skipped

    def folded_height(self, width: int) -> int:
        """Return the height of the line that says that questions were put off.

        Parameters
        ----------
        width : int
            Room for it, pixels.

        Returns
        -------
        int
            Pixels.
        """
        button = self.again.sizeHint()
        words = self.put_off.heightForWidth(max(width - button.width() - 24, 1))
        return max(words, button.height()) + 14

    def show_card(self, card: ModelCard | None) -> None:
        """Ask about another model, or about none.

        Parameters
        ----------
        card : ModelCard or None
            What is known.
        """
        self.given = card
        self._topics = () if card is None else questions(card)
        self._card = card if self._topics else None
        if self._card is not None:
            self._offer(self._card)
        self._show_state()

    def keep(self) -> None:
        """Hand over the card with all answers, the selected guesses included."""
        if self._card is not None:
            self.kept.emit(self._answered((*self._topics, "task")))

    def skip(self) -> None:
        """Use the guesses until the program ends."""
        if self._card is not None:
            self.skipped.add(self._card.sha256)
            self._offer(self._card)
            self._show_state()
            self.changed.emit()

    def ask(self) -> None:
        """Ask what was put off."""
        if self._card is not None:
            self.skipped.discard(self._card.sha256)
            self._show_state()

    def look(self, *, patient: bool = False) -> None:
        """Make the small pictures anew.

        Parameters
        ----------
        patient : bool
            Whether to wait for a slow model.
        """
        self._looking.stop()
        self.glimpses.stop()
        asked = self.is_open and "normalization" in self._topics and self.isVisible()
        view = self._view() if asked else None
        for tile in self.sheet.looks.tiles:
            tile.make_room(view is not None)
        self.sheet.compare.setVisible(False)
        self._explain(view is not None)
        if view is not None:
            card = self._answered(())
            cards = [replace(card, normalization=look.normalization) for look in self._looks]
            self.glimpses.show(view, cards, patient=patient)

    def look_later(self) -> None:
        """Make the small pictures anew, once nothing changes any more."""
        if self.is_open:
            self._looking.start()

    def stop(self) -> None:
        """Give up the small pictures."""
        self._looking.stop()
        self.glimpses.stop()

    def _answered(self, stated: tuple[str, ...]) -> ModelCard:
        """Return the card with the answers."""
        assert self._card is not None
        given = {
            "normalization": self._looks[self.sheet.looks.index].normalization,
            "classes": self.sheet.names.classes,
            "colour_order": ORDERS[self.sheet.orders.index],
        }
        return answered(self._card, stated, **{topic: given[topic] for topic in self._topics})

    def _lay_out(self) -> None:
        """Put the sheet, and the line that takes its place, under each other."""
        self.setObjectName("onnxsegQuestions")
        self.setStyleSheet(
            "#onnxsegQuestions { background: rgba(128, 128, 128, 28); border-radius: 4px; }"
            f"#{CLEAR} {{ background: transparent; border: none; }}"
        )
        self.sheet, self.line = QuestionSheet(), QWidget()
        self.line.setObjectName(CLEAR)
        self.put_off, self.again = sentences(), QPushButton("Answer…")
        row = QHBoxLayout(self.line)
        row.setContentsMargins(8, 4, 4, 4)
        row.addWidget(self.put_off, 1)
        row.addWidget(self.again)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.sheet)
        outer.addWidget(self.line)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def _connect(self) -> None:
        """Connect the parts to each other."""
        self.sheet.looks.changed.connect(self._on_look)
        self.sheet.names.changed.connect(self.changed)
        self.sheet.orders.changed.connect(self._on_order)
        self.sheet.keep.clicked.connect(self.keep)
        self.sheet.skip.clicked.connect(self.skip)
        self.again.clicked.connect(self.ask)
        self.sheet.compare.clicked.connect(self._on_compare)
        self.glimpses.seen.connect(self._on_seen)
        self.glimpses.stopped.connect(self._on_stopped)

    def _offer(self, card: ModelCard) -> None:
        """Select the guesses."""
        self._looks = looks(card)
        guess = [look.normalization for look in self._looks].index(card.normalization)
        self.sheet.looks.offer([look.name for look in self._looks], guess)
        for tile, look in zip(self.sheet.looks.tiles, self._looks, strict=True):
            tile.setToolTip(look.words)
        self.sheet.names.offer(card.classes)
        self.sheet.orders.select(ORDERS.index(card.colour_order))
        self.sheet.show_topics(self._topics)
        asked = _listed([TOPICS[topic] for topic in self._topics])
        self.put_off.setText(f"<span style='color: {GUESS_COLOUR}'>Guessed: {asked}.</span>")

    def _show_state(self) -> None:
        """Show the questions, a line that they were put off, or nothing."""
        self.stop()
        self.setVisible(self._card is not None)
        self.sheet.setVisible(self.is_open)
        self.line.setVisible(not self.is_open)
        self._explain(False)
        self.look_later()

    def _on_look(self) -> None:
        self._explain(self.sheet.looks.tiles[0].has_picture or self.glimpses.is_busy)
        self.changed.emit()

    def _on_order(self) -> None:
        self.look_later()
        self.changed.emit()

    def _on_compare(self) -> None:
        self.look(patient=True)

    def _on_seen(self, number: int, pixels: Any) -> None:
        self.sheet.looks.tiles[number].show_picture(pixels)

    def _on_stopped(self) -> None:
        """Offer to go on with a slow model, and close the gaps of what failed."""
        if any(tile.has_picture for tile in self.sheet.looks.tiles):
            self.sheet.compare.setVisible(True)
            return
        for tile in self.sheet.looks.tiles:
            tile.make_room(False)

    def _explain(self, viewed: bool) -> None:
        """Say what the selected intensities are, and how to compare."""
        if not self._looks:
            return
        words = self._looks[self.sheet.looks.index].words
        hint = COMPARE if viewed else NO_VIEW
        self.sheet.meaning.setText(f"{words} <span style='color: {faint(self)}'>{hint}</span>")


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
