"""The array types of annotations, each named once; shapes are said where they are used."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Index = NDArray[np.intp]
Int8s = NDArray[np.int8]
Int32s = NDArray[np.int32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Singles = NDArray[np.float32]
Words = NDArray[np.uint64]
