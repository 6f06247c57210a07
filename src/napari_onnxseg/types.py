"""Array aliases: dtype and meaning; axes in the order (T, Z, C, Y, X)."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

AnyArray: TypeAlias = NDArray[Any]
"""Any shape, any numeric dtype."""

Pixels: TypeAlias = NDArray[Any]
"""(C, Y, X) or (C, Z, Y, X), raw values in the dtype of the image."""

Batch: TypeAlias = NDArray[Any]
"""(N, C, Y, X) or (N, C, Z, Y, X), what the network is fed, channels first."""

Scores: TypeAlias = NDArray[np.float32]
"""(K, Y, X) or (N, K, Y, X), logits or probabilities, one plane a class."""

Labels: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]
"""(Y, X) or (Z, Y, X), class ids."""

Mask: TypeAlias = NDArray[np.bool_]
"""(Y, X) or (Z, Y, X), True where it applies."""

Alpha: TypeAlias = NDArray[np.float32]
"""(Y, X), opacity in [0, 1]."""

Rgba: TypeAlias = NDArray[np.uint8]
"""(Y, X, 4), straight (not premultiplied) alpha."""
