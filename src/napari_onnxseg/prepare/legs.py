"""Which steps of a chain can share one measurement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from napari_onnxseg.prepare.steps import Step

LINES = frozenset(
    {
        "scale_linear",
        "standardize",
        "zero_mean_unit_variance",
        "scale_range",
        "scale_mean_variance",
    }
)
"""Operations that are a line for each channel."""


@dataclass(slots=True)
class Leg:
    """Steps that share one measurement: only the last one may be no line.

    Parameters
    ----------
    first : int
        Place of the first step in the chain, from 1.
    steps : list of Step
        In their order.
    """

    first: int
    steps: list[Step] = field(default_factory=list)

    @property
    def measures(self) -> bool:
        """Whether a step needs the statistics of what the leg is given."""
        return any(_measures(step) for step in self.steps)

    def percents(self, *, per_channel: bool) -> set[float]:
        """Return the percentiles asked of each channel by itself, or of all together.

        Parameters
        ----------
        per_channel : bool
            Which of the two.

        Returns
        -------
        set of float
            In [0, 100]; from both ends where a line turns high and low round.
        """
        asked = [s for s in self.steps if _measures(s) and s.per_channel == per_channel]
        percents = {p for step in asked for p in step.percentiles if p is not None}
        turned = any(gain < 0 for step in self.steps for gain in step.gain)
        return percents | ({100 - p for p in percents} if turned else set())


def legs_of(steps: Iterable[Step], channels: int) -> Sequence[Leg]:
    """Divide a chain where the statistics of the next step do not follow from those before.

    Parameters
    ----------
    steps : iterable of Step
        The chain.
    channels : int
        Channels that it is done to.

    Returns
    -------
    sequence of Leg
        Together all steps in their order; the last may be empty.
    """
    legs, apart = [Leg(1)], False
    for place, step in enumerate(steps, 1):
        if apart and _measures(step) and not step.per_channel:
            legs.append(Leg(place))
            apart = False
        legs[-1].steps.append(step)
        if step.op in LINES:
            apart = apart or (channels > 1 and _uneven(step))
        elif not (step.op == "cast" and step.keeps_floats):
            legs.append(Leg(place + 1))
            apart = False
    return legs


def _measures(step: Step) -> bool:
    """Whether a step needs the statistics of what it is given."""
    return step.needs_statistics and not step.only_refers


def _uneven(step: Step) -> bool:
    """Whether a line may differ from channel to channel."""
    numbers = (step.gain, step.offset, step.mean, step.std)
    return step.per_channel or any(len(set(values)) > 1 for values in numbers)
