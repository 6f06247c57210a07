"""Short texts that ``onnxseg evaluate`` takes: names, ids, scale."""

from __future__ import annotations

from napari_onnxseg.errors import ChoiceError


def class_names(text: str, model: str) -> dict[int, str]:
    """Read names of classes.

    Parameters
    ----------
    text : str
        ``"background,nucleus"``, ``"1=nucleus,5=debris"``, or nothing.
    model : str
        Model whose names are taken, or nothing; written names win.

    Returns
    -------
    dict of int to str
        By id.

    Raises
    ------
    ChoiceError
        When an entry has no whole number before its ``=``.
    """
    names: dict[int, str] = {}
    if model:
        from napari_onnxseg.cards.read import load_card

        names = {entry.id: entry.name for entry in load_card(model).classes}
    for place, part in enumerate(text.split(",") if text else ()):
        number, _, name = part.rpartition("=")
        if number and not number.strip().isdigit():
            raise ChoiceError(
                f"'{part}' does not name a class; write names from class 0 on, such as "
                "background,nucleus, or numbers with names, such as 1=nucleus."
            )
        names[int(number) if number else place] = name.strip()
    return names


def read_scale(text: str, ndim: int) -> tuple[float, ...]:
    """Read world units per pixel.

    Parameters
    ----------
    text : str
        One number for all axes, or one for each, separated by commas.
    ndim : int
        Axes of the labels.

    Returns
    -------
    tuple of float
        One per axis.

    Raises
    ------
    ChoiceError
        When a part is no number, or their count does not fit.
    """
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, ndim):
        raise ChoiceError(
            f"The scale {text!r} does not fit {ndim} axes; write one number such as 0.5, or one "
            f"for each, such as {','.join(['0.5'] * ndim)}."
        )
    return numbers * ndim if len(numbers) == 1 else numbers


def read_ids(text: str) -> dict[int, int]:
    """Read new ids of classes.

    Parameters
    ----------
    text : str
        ``"0=1,5=255"``, or nothing.

    Returns
    -------
    dict of int to int
        New id of each old one.

    Raises
    ------
    ChoiceError
        When an entry is not two whole numbers.
    """
    parts = [part.split("=") for part in text.split(",") if part]
    if not all(len(part) == 2 and all(n.strip().isdigit() for n in part) for part in parts):
        raise ChoiceError(
            f"{text!r} does not give new ids; write old and new ones, such as 0=1,5=255."
        )
    return {int(old): int(new) for old, new in parts}
