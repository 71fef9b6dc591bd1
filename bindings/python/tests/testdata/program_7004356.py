"""A random program that has failed, of seed 7004356 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array(8, 'uint16'))
v1 = Tensor(np.array([[[2], [1], [7]], [[1], [3], [7]], [[2], [2], [5]]], 'uint64'))
v2 = v1.gather(2, (v1 % 1).cast('int32'))
v3 = v1 % 18446744073709551613
v4 = v1.maximum(v3)
v4[-1] = 2
v6 = v3 % 18446744073709551615
v7 = v6 <= 6
v6[v7] = 0
v9 = v7.cat(v7, dim=2)
v10 = v9.maximum(v7)
v11 = v7 == v9
v12 = Tensor(np.array([[[False, True]], [[True, False]], [[False, True]]], 'bool'))
v13 = v12[(v11.cast('int32') + 0)]
v14 = v0.maximum(v0)
Tensor.realize(v4, v13)
v16 = Tensor(np.array([-1.375, 2.25], 'float32'))
v17 = v16 < v16
v18 = v17.cast('uint8')
v19 = v14.clip(0, 65535)
v20 = v18.min(axis=None, keepdim=False)
v0 -= v14
v22 = v12.where(v17, v12)
np.testing.assert_array_equal(v3.numpy(), np.array([[[2], [1], [7]], [[1], [3], [7]], [[2], [2], [5]]], 'uint64'))
np.testing.assert_array_equal(v7.numpy(), np.array([[[True], [True], [False]], [[True], [True], [False]], [[True], [True], [True]]], 'bool'))
np.testing.assert_array_equal(v20.numpy(), np.array(0, 'uint8'))
np.testing.assert_array_equal(v18.numpy(), np.array([0, 0], 'uint8'))
np.testing.assert_array_equal(v17.numpy(), np.array([False, False], 'bool'))
np.testing.assert_array_equal(v19.numpy(), np.array(8, 'uint16'))
np.testing.assert_array_equal(v0.numpy(), np.array(0, 'uint16'))
np.testing.assert_array_equal(v10.numpy(), np.array([[[True, True], [True, True], [False, False]], [[True, True], [True, True], [False, False]], [[True, True], [True, True], [True, True]]], 'bool'))
np.testing.assert_array_equal(v14.numpy(), np.array(8, 'uint16'))
np.testing.assert_array_equal(v16.numpy(), np.array([-1.375, 2.25], 'float32'))
np.testing.assert_array_equal(v6.numpy(), np.array([[[0], [0], [7]], [[0], [0], [7]], [[0], [0], [0]]], 'uint64'))
np.testing.assert_array_equal(v11.numpy(), np.array([[[True, True], [True, True], [True, True]], [[True, True], [True, True], [True, True]], [[True, True], [True, True], [True, True]]], 'bool'))
np.testing.assert_array_equal(v2.numpy(), np.array([[[2], [1], [7]], [[1], [3], [7]], [[2], [2], [5]]], 'uint64'))
np.testing.assert_array_equal(v9.numpy(), np.array([[[True, True], [True, True], [False, False]], [[True, True], [True, True], [False, False]], [[True, True], [True, True], [True, True]]], 'bool'))
np.testing.assert_array_equal(v22.numpy(), np.array([[[False, False]], [[False, False]], [[False, False]]], 'bool'))
np.testing.assert_array_equal(v12.numpy(), np.array([[[False, True]], [[True, False]], [[False, True]]], 'bool'))
np.testing.assert_array_equal(v1.numpy(), np.array([[[2], [1], [7]], [[1], [3], [7]], [[2], [2], [5]]], 'uint64'))
np.testing.assert_array_equal(v4.numpy(), np.array([[[2], [1], [7]], [[1], [3], [7]], [[2], [2], [2]]], 'uint64'))
np.testing.assert_array_equal(v13.numpy(), np.array([[[[[True, False]], [[True, False]]], [[[True, False]], [[True, False]]], [[[True, False]], [[True, False]]]], [[[[True, False]], [[True, False]]], [[[True, False]], [[True, False]]], [[[True, False]], [[True, False]]]], [[[[True, False]], [[True, False]]], [[[True, False]], [[True, False]]], [[[True, False]], [[True, False]]]]], 'bool'))
