"""Fixed points of a map that contracts slowly: Anderson's extrapolation of its last steps."""

from __future__ import annotations

from collections import deque

import numpy as np

from rpte.utils.arrays import Floats

MEMORY = 5  # steps that are combined
RANK = 1e-10  # singular values below this fraction of the largest are directions already taken


class Extrapolation:
    """The last points (q,) that a map was asked at, and what it gave for them.

    The next point is the combination of what it gave whose step would be shortest if the map were
    linear (Anderson 1965; Walker and Ni 2011). Who asks has to see whether it is a good one.
    """

    def __init__(self) -> None:
        self._images: deque[Floats] = deque(maxlen=MEMORY + 1)
        self._steps: deque[Floats] = deque(maxlen=MEMORY + 1)

    def next(self, point: Floats, image: Floats) -> Floats:
        """Return where to ask next, after an image (q,) of a point (q,)."""
        self._images.append(image)
        self._steps.append(image - point)
        if len(self._steps) == 1:
            return image
        steps, images = (np.diff(np.array(each), axis=0) for each in (self._steps, self._images))
        shares = np.linalg.lstsq(steps.T, self._steps[-1], rcond=RANK)[0]
        return np.asarray(image - shares @ images)

    def restart(self) -> None:
        """Forget all points but the last."""
        while len(self._steps) > 1:
            self._steps.popleft()
            self._images.popleft()
