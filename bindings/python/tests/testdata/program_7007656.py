"""A random program that has failed, of seed 7007656 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array(5, 'uint32'))
v1 = Tensor(np.array([5, 6, 1], 'uint16'))
v2 = v0 + v0
v3 = -v0
v4 = v1.minimum(v1)
v4.assign(v4 + 0)
v6 = v1[(v4 == 1).cast('int64')]
v7 = v6.minimum(v4)
v8 = v0.clip(5, 7)
v9 = v7.sum(axis=None, keepdim=False)
v10 = v1[0:3:1]
np.testing.assert_array_equal(v7.numpy(), np.array([5, 5, 1], 'uint16'))
v12 = v7.min(axis=0, keepdim=True)
v13 = v12 % v7
v4.assign(v13 + 0)
v15 = v12.scatter_reduce(0, (v10 % 1).cast('int32'), v10, 'amax')
v16 = v10.scatter_reduce(0, (v12 == 7).cast('int32'), v13, 'amin')
v17 = v12.flip(0)
np.testing.assert_array_equal(v9.numpy(), np.array(11, 'uint32'))
v19 = v15.pad(((2, 0),), value=1)
v20 = v7.detach()
v21 = v8.minimum(v8)
v22 = v20.sum(axis=0, keepdim=False)
v23 = v19.expand(2, 3)
v24 = v17.pad(((0, 1),), value=32768)
Tensor.realize(v20, v4, v6, v9, v10)
np.testing.assert_array_equal(v20.numpy(), np.array([5, 5, 1], 'uint16'))
np.testing.assert_array_equal(v4.numpy(), np.array([1, 1, 0], 'uint16'))
np.testing.assert_array_equal(v6.numpy(), np.array([5, 5, 6], 'uint16'))
np.testing.assert_array_equal(v9.numpy(), np.array(11, 'uint32'))
np.testing.assert_array_equal(v10.numpy(), np.array([5, 6, 1], 'uint16'))
np.testing.assert_array_equal(v22.numpy(), np.array(11, 'uint32'))
np.testing.assert_array_equal(v23.numpy(), np.array([[1, 1, 6], [1, 1, 6]], 'uint16'))
np.testing.assert_array_equal(v2.numpy(), np.array(10, 'uint32'))
np.testing.assert_array_equal(v0.numpy(), np.array(5, 'uint32'))
np.testing.assert_array_equal(v7.numpy(), np.array([5, 5, 1], 'uint16'))
np.testing.assert_array_equal(v19.numpy(), np.array([1, 1, 6], 'uint16'))
np.testing.assert_array_equal(v16.numpy(), np.array([1, 6, 1], 'uint16'))
np.testing.assert_array_equal(v3.numpy(), np.array(4294967291, 'uint32'))
np.testing.assert_array_equal(v17.numpy(), np.array([1], 'uint16'))
np.testing.assert_array_equal(v8.numpy(), np.array(5, 'uint32'))
np.testing.assert_array_equal(v24.numpy(), np.array([1, 32768], 'uint16'))
np.testing.assert_array_equal(v1.numpy(), np.array([5, 6, 1], 'uint16'))
np.testing.assert_array_equal(v15.numpy(), np.array([6], 'uint16'))
np.testing.assert_array_equal(v13.numpy(), np.array([1, 1, 0], 'uint16'))
np.testing.assert_array_equal(v21.numpy(), np.array(5, 'uint32'))
np.testing.assert_array_equal(v12.numpy(), np.array([1], 'uint16'))
