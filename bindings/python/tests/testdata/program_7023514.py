"""A random program that has failed, of seed 7023514 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([[-3.5, -1.0, 1.125], [0.125, -3.0, 4.0], [-2.125, -4.0, 0.0]], 'float64'), requires_grad=True)
v1 = Tensor(np.array([[[6, 4, 8, 3]], [[4294967294, 0, 9, 1]], [[1, 3, 1, 1]]], 'uint32'))
v2 = Tensor(np.array([0.625, 2.0, -0.625, -1.375], 'float16'))
v3 = v0.sort(0)[0]
np.testing.assert_array_equal(v3.numpy(), np.array([[-3.5, -4.0, 0.0], [-2.125, -3.0, 1.125], [0.125, -1.0, 4.0]], 'float64'))
v5 = v2 != -0.125
v6 = v5.where(v5, v5)
np.testing.assert_array_equal(v5.numpy(), np.array([True, True, True, True], 'bool'))
Tensor.realize(v5)
v9 = v3.contiguous()
v10 = v5.where(v6, v6)
v11 = v9.flip(0)
v12 = v9 > v11
v13 = v11.flip(0)
v14 = v12.flip(1)
np.testing.assert_array_equal(v12.numpy(), np.array([[False, False, False], [False, False, False], [True, True, True]], 'bool'))
v16 = v14 | v14
v17 = v1 >> 4
v18 = v16.where(v16.cast('float64'), Tensor(0.0, dtype='float64'))
v19 = v17 + v17
Tensor.realize(v10)
v21 = v16.cast('uint16')
v22 = v18.max(axis=1, keepdim=False)
v23 = v2.abs()
Tensor.realize(v16, v19)
v25 = v22 < v18
v26 = v21.contiguous()
v27 = v17 << 4
v13.sum().backward()
np.testing.assert_allclose(v0.grad.numpy(), np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], 'float64'), 1e-2, 1e-2)
Tensor.realize(v0, v19, v1, v10, v6)
np.testing.assert_array_equal(v0.numpy(), np.array([[-3.5, -1.0, 1.125], [0.125, -3.0, 4.0], [-2.125, -4.0, 0.0]], 'float64'))
np.testing.assert_array_equal(v19.numpy(), np.array([[[0, 0, 0, 0]], [[536870910, 0, 0, 0]], [[0, 0, 0, 0]]], 'uint32'))
np.testing.assert_array_equal(v1.numpy(), np.array([[[6, 4, 8, 3]], [[4294967294, 0, 9, 1]], [[1, 3, 1, 1]]], 'uint32'))
np.testing.assert_array_equal(v10.numpy(), np.array([True, True, True, True], 'bool'))
np.testing.assert_array_equal(v6.numpy(), np.array([True, True, True, True], 'bool'))
np.testing.assert_array_equal(v16.numpy(), np.array([[False, False, False], [False, False, False], [True, True, True]], 'bool'))
np.testing.assert_array_equal(v3.numpy(), np.array([[-3.5, -4.0, 0.0], [-2.125, -3.0, 1.125], [0.125, -1.0, 4.0]], 'float64'))
np.testing.assert_array_equal(v23.numpy(), np.array([0.625, 2.0, 0.625, 1.375], 'float16'))
np.testing.assert_array_equal(v17.numpy(), np.array([[[0, 0, 0, 0]], [[268435455, 0, 0, 0]], [[0, 0, 0, 0]]], 'uint32'))
np.testing.assert_array_equal(v22.numpy(), np.array([0.0, 0.0, 1.0], 'float64'))
np.testing.assert_array_equal(v11.numpy(), np.array([[0.125, -1.0, 4.0], [-2.125, -3.0, 1.125], [-3.5, -4.0, 0.0]], 'float64'))
np.testing.assert_array_equal(v21.numpy(), np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], 'uint16'))
np.testing.assert_array_equal(v12.numpy(), np.array([[False, False, False], [False, False, False], [True, True, True]], 'bool'))
np.testing.assert_array_equal(v26.numpy(), np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], 'uint16'))
np.testing.assert_array_equal(v25.numpy(), np.array([[False, False, False], [False, False, False], [True, True, False]], 'bool'))
np.testing.assert_array_equal(v9.numpy(), np.array([[-3.5, -4.0, 0.0], [-2.125, -3.0, 1.125], [0.125, -1.0, 4.0]], 'float64'))
np.testing.assert_array_equal(v14.numpy(), np.array([[False, False, False], [False, False, False], [True, True, True]], 'bool'))
np.testing.assert_array_equal(v13.numpy(), np.array([[-3.5, -4.0, 0.0], [-2.125, -3.0, 1.125], [0.125, -1.0, 4.0]], 'float64'))
np.testing.assert_array_equal(v2.numpy(), np.array([0.625, 2.0, -0.625, -1.375], 'float16'))
np.testing.assert_array_equal(v27.numpy(), np.array([[[0, 0, 0, 0]], [[4294967280, 0, 0, 0]], [[0, 0, 0, 0]]], 'uint32'))
np.testing.assert_array_equal(v5.numpy(), np.array([True, True, True, True], 'bool'))
np.testing.assert_array_equal(v18.numpy(), np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], 'float64'))
