"""Positions whose parts are beyond 32 bits, though the positions are not."""

import numpy as np

from polygrad import Tensor

x = Tensor(np.array([0, 3, 1, 1], "int32")).realize()
at = (x.pad(((1, 1),), value=1 << 30).cast("int64") * 2) % 4
assert x.gather(0, at).tolist() == [0, 0, 1, 1, 1, 0]
