"""A random program that has failed, of seed 7029141 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([[-4.125, -1.875, 4.125, -4.875], [3.25, 0.25, 0.5, -0.25]], 'float64'), requires_grad=True)
v1 = Tensor(np.array([[True, True, True, False], [True, False, True, False], [False, False, True, False], [True, False, True, False]], 'bool'))
v2 = Tensor(np.array([-128, 9, -5], 'int8'))
v3 = Tensor(np.array([[1.5, -0.75, 0.375, 2.875]], 'float32'))
v4 = v0.any(axis=1, keepdim=True)
v5 = v3.argmin(axis=0, keepdim=False)
v6 = v5.argmax(axis=0, keepdim=False)
v7 = v6.clip(-4, 0)
v8 = v0.pad(((2, 1), (1, 2)), value=float("inf"))
Tensor.realize(v3, v8)
v10 = v1.where(v1, v1)
v11 = v8 == v8
v12 = v11.contiguous()
v13 = v10.cumsum(0)
v14 = v10.argmax(axis=1, keepdim=True)
v15 = v13 > 6
v16 = v15.cast('uint8').pad(((2, 2), (1, 0)), value=128)
v17 = v16.gather(1, (v14 % 5).cast('int64'))
v18 = v4[0]
Tensor.realize(v11, v7, v8, v4, v15)
np.testing.assert_array_equal(v11.numpy(), np.array([[True, True, True, True, True, True, True], [True, True, True, True, True, True, True], [True, True, True, True, True, True, True], [True, True, True, True, True, True, True], [True, True, True, True, True, True, True]], 'bool'))
np.testing.assert_array_equal(v7.numpy(), np.array(0, 'int32'))
np.testing.assert_array_equal(v8.numpy(), np.array([[np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf], [np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf], [np.inf, -4.125, -1.875, 4.125, -4.875, np.inf, np.inf], [np.inf, 3.25, 0.25, 0.5, -0.25, np.inf, np.inf], [np.inf, np.inf, np.inf, np.inf, np.inf, np.inf, np.inf]], 'float64'))
np.testing.assert_array_equal(v4.numpy(), np.array([[True], [True]], 'bool'))
np.testing.assert_array_equal(v15.numpy(), np.array([[False, False, False, False], [False, False, False, False], [False, False, False, False], [False, False, False, False]], 'bool'))
np.testing.assert_array_equal(v17.numpy(), np.array([[128], [128], [0], [128]], 'uint8'))
np.testing.assert_array_equal(v10.numpy(), np.array([[True, True, True, False], [True, False, True, False], [False, False, True, False], [True, False, True, False]], 'bool'))
np.testing.assert_array_equal(v3.numpy(), np.array([[1.5, -0.75, 0.375, 2.875]], 'float32'))
np.testing.assert_array_equal(v16.numpy(), np.array([[128, 128, 128, 128, 128], [128, 128, 128, 128, 128], [128, 0, 0, 0, 0], [128, 0, 0, 0, 0], [128, 0, 0, 0, 0], [128, 0, 0, 0, 0], [128, 128, 128, 128, 128], [128, 128, 128, 128, 128]], 'uint8'))
np.testing.assert_array_equal(v0.numpy(), np.array([[-4.125, -1.875, 4.125, -4.875], [3.25, 0.25, 0.5, -0.25]], 'float64'))
np.testing.assert_array_equal(v6.numpy(), np.array(0, 'int32'))
np.testing.assert_array_equal(v12.numpy(), np.array([[True, True, True, True, True, True, True], [True, True, True, True, True, True, True], [True, True, True, True, True, True, True], [True, True, True, True, True, True, True], [True, True, True, True, True, True, True]], 'bool'))
np.testing.assert_array_equal(v2.numpy(), np.array([-128, 9, -5], 'int8'))
np.testing.assert_array_equal(v18.numpy(), np.array([True], 'bool'))
np.testing.assert_array_equal(v13.numpy(), np.array([[1, 1, 1, 0], [2, 1, 2, 0], [2, 1, 3, 0], [3, 1, 4, 0]], 'int32'))
np.testing.assert_array_equal(v14.numpy(), np.array([[0], [0], [2], [0]], 'int32'))
np.testing.assert_array_equal(v1.numpy(), np.array([[True, True, True, False], [True, False, True, False], [False, False, True, False], [True, False, True, False]], 'bool'))
np.testing.assert_array_equal(v5.numpy(), np.array([0, 0, 0, 0], 'int32'))
