"""Pictures drawn for the tests of the command line."""

import numpy as np

TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: a.swapaxes(0, 1)[::-1],
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: a.swapaxes(0, 1)[:, ::-1],
}


def corner_mark(height: int = 60, width: int = 80) -> np.ndarray:
    """Return uint8 (Y, X, 3): dark, with a bright rectangle in the top left quarter."""
    picture = np.full((height, width, 3), 40, np.uint8)
    picture[height // 12 : height // 4, width // 12 : width // 2] = (250, 220, 180)
    return picture


def stored_turned(picture: np.ndarray, orientation: int) -> np.ndarray:
    """Return the picture as a camera stores it that asks for this EXIF orientation."""
    return np.ascontiguousarray(TURNS[orientation](picture))
