"""A remainder of integers of any size is no remainder of positions."""

import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([8, 8], "int64"))
v4 = v0.abs()
v6 = v0 * 2
v8 = v6.clip(-5, -1)
v12 = v6.cummax(0)[0]
v15 = v8[(v12 != 8).cast("int32")]
v16 = v15[(v8 % 2).cast("int8")]
v17 = v16.cummin(0)[1]
v20 = v17.scatter_reduce(0, (v4 != 7).cast("int64"), v17, "sum")
np.testing.assert_allclose(v20.numpy(), np.array([0, 0], "int32"), rtol=0, atol=0.0)
