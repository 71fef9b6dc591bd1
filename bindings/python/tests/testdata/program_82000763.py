"""A scatter that fusion took for a store of everything that is read."""

import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([6, 3, 4], "uint32"))
v1 = Tensor(np.array([8], "int8"))
v4 = v1.sort(0)[0].searchsorted(v1, right=False)
v8 = v0.maximum(v0)
v10 = v8.scatter(0, (v4 > -3).cast("int64"), 9)
v8 *= v10
np.testing.assert_array_equal(v8.numpy(), np.array([36, 27, 16], "uint32"))

b = Tensor(np.array([[False]]))
x = Tensor(np.array([[-2, 4], [-4, -7], [2, 6]], "int16"))
y = x.scatter(1, (b < b).cast("uint8"), x)
z = (y & y).flip(1)
np.testing.assert_array_equal(z.numpy(), np.array([[4, -2], [-7, -4], [6, 2]], "int16"))
