"""A kernel has reductions on each of two loops, and no order of them."""

from __future__ import annotations

import numpy as np

from polygrad import Tensor

v1 = Tensor(np.array([[1, 5, 1, 3]], "uint16"))
v2 = v1.permute((1, 0))
v3_0 = Tensor.arange(stop=3, dtype="uint8")
v5 = v3_0.clip(6, 255)
v7 = v3_0[(v3_0 % 3).cast("int8")]
v8 = v5 >> 7
v9 = v8.pad(((2, 1),), value=6)
v10 = v2 != 2
v11 = v9.cat(v9, dim=0)
Tensor.realize(v9)
v13 = v7 > 7
v14 = v10.where(v5.cast("int32"), Tensor(-2, dtype="int32"))
v16 = v14.cast("float32").pad(((1, 2), (2, 1)), value=-0.375)
v18 = v11.cumprod(0)
v19 = v16[(v13.cast("int32") + 0)]
v20 = v18 | 2
v21 = (v19 @ v19.T + Tensor.eye(3, dtype="float32") * 4.0).inv()
Tensor.realize(v20, v21)
assert np.isfinite(v21.numpy()).all()
