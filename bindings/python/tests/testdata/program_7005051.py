"""A random program that has failed, of seed 7005051 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([-4.75, -3.5, 2.5], 'float64'), requires_grad=True)
v1 = Tensor(np.array([1.375, -0.5, 2.125, -1.625], 'float16'))
v2 = Tensor(np.array(4, 'uint64'))
v3 = v2 * 0
v4 = v1.expand(2, 4)
v5 = v3.clip(0, 2)
v6 = v0[(v4 != -1.375).cast('int32')]
v7 = v5.maximum(v3)
v8 = v5 | 4
v9 = v0.argmin(axis=None, keepdim=True)
v10 = v7 - 5
v11 = v8.minimum(v8)
np.testing.assert_array_equal(v1.numpy(), np.array([1.375, -0.5, 2.125, -1.625], 'float16'))
v13 = Tensor(np.array([[8]], 'uint8'))
v14 = v9 * v9
v15 = v9.pad(((1, 1),), value=3)
v6.sum().backward()
np.testing.assert_allclose(v0.grad.numpy(), np.array([0.0, 8.0, 0.0], 'float64'), 1e-2, 1e-2)
np.testing.assert_array_equal(v13.numpy(), np.array([[8]], 'uint8'))
np.testing.assert_array_equal(v14.numpy(), np.array([0], 'int32'))
np.testing.assert_array_equal(v0.numpy(), np.array([-4.75, -3.5, 2.5], 'float64'))
np.testing.assert_array_equal(v11.numpy(), np.array(4, 'uint64'))
np.testing.assert_array_equal(v1.numpy(), np.array([1.375, -0.5, 2.125, -1.625], 'float16'))
np.testing.assert_array_equal(v8.numpy(), np.array(4, 'uint64'))
np.testing.assert_array_equal(v10.numpy(), np.array(18446744073709551611, 'uint64'))
np.testing.assert_array_equal(v9.numpy(), np.array([0], 'int32'))
np.testing.assert_array_equal(v4.numpy(), np.array([[1.375, -0.5, 2.125, -1.625], [1.375, -0.5, 2.125, -1.625]], 'float16'))
np.testing.assert_array_equal(v3.numpy(), np.array(0, 'uint64'))
np.testing.assert_array_equal(v15.numpy(), np.array([3, 0, 3], 'int32'))
np.testing.assert_array_equal(v5.numpy(), np.array(0, 'uint64'))
np.testing.assert_array_equal(v6.numpy(), np.array([[-3.5, -3.5, -3.5, -3.5], [-3.5, -3.5, -3.5, -3.5]], 'float64'))
np.testing.assert_array_equal(v2.numpy(), np.array(4, 'uint64'))
np.testing.assert_array_equal(v7.numpy(), np.array(0, 'uint64'))
