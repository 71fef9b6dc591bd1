"""A random program that has failed, of seed 7009701 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([[9, 4, 4, -3], [4, -3, -1, -2], [-6, 1, 1, -4]], 'int32'))
v1 = Tensor(np.array([8, 9], 'int8'))
v2 = Tensor(np.array([[6, 2, 4, 0], [18446744073709551615, 2, 1, 18446744073709551614]], 'uint64'))
np.testing.assert_array_equal(v2.numpy(), np.array([[6, 2, 4, 0], [18446744073709551615, 2, 1, 18446744073709551614]], 'uint64'))
v4 = v0 >> 0
v5 = v4.clip(3, 5)
v6 = v5.expand(2, 3, 4)
v7 = v2[0:2:2, -3]
v8 = v5[-1]
v9 = v5.clip(1073741824, 2147483645)
np.testing.assert_array_equal(v1.numpy(), np.array([8, 9], 'int8'))
Tensor.realize(v9)
Tensor.realize(v2, v9, v8, v0)
Tensor.realize(v9)
v14 = v7 * 9223372036854775808
v15 = v8.max(axis=None, keepdim=False)
v16 = v14.relu()
v17 = v15 % v8
v18 = v9.expand(2, 3, 4)
v19 = v18.all(axis=1, keepdim=False)
v20 = v2[(v16 == 4).cast('uint8')]
v21 = v19.flip(1)
v22 = v5.relu()
v23 = v9.roll(-1, 1)
v24 = v4.pad(((2, 0), (0, 2)), value=-1)
Tensor.realize(v23, v14, v24, v16, v18)
np.testing.assert_array_equal(v23.numpy(), np.array([[1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824]], 'int32'))
np.testing.assert_array_equal(v14.numpy(), np.array([0], 'uint64'))
np.testing.assert_array_equal(v24.numpy(), np.array([[-1, -1, -1, -1, -1, -1], [-1, -1, -1, -1, -1, -1], [9, 4, 4, -3, -1, -1], [4, -3, -1, -2, -1, -1], [-6, 1, 1, -4, -1, -1]], 'int32'))
np.testing.assert_array_equal(v16.numpy(), np.array([0], 'uint64'))
np.testing.assert_array_equal(v18.numpy(), np.array([[[1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824]], [[1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824]]], 'int32'))
np.testing.assert_array_equal(v22.numpy(), np.array([[5, 4, 4, 3], [4, 3, 3, 3], [3, 3, 3, 3]], 'int32'))
np.testing.assert_array_equal(v8.numpy(), np.array([3, 3, 3, 3], 'int32'))
np.testing.assert_array_equal(v2.numpy(), np.array([[6, 2, 4, 0], [18446744073709551615, 2, 1, 18446744073709551614]], 'uint64'))
np.testing.assert_array_equal(v15.numpy(), np.array(3, 'int32'))
np.testing.assert_array_equal(v9.numpy(), np.array([[1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824], [1073741824, 1073741824, 1073741824, 1073741824]], 'int32'))
np.testing.assert_array_equal(v4.numpy(), np.array([[9, 4, 4, -3], [4, -3, -1, -2], [-6, 1, 1, -4]], 'int32'))
np.testing.assert_array_equal(v6.numpy(), np.array([[[5, 4, 4, 3], [4, 3, 3, 3], [3, 3, 3, 3]], [[5, 4, 4, 3], [4, 3, 3, 3], [3, 3, 3, 3]]], 'int32'))
np.testing.assert_array_equal(v7.numpy(), np.array([2], 'uint64'))
np.testing.assert_array_equal(v1.numpy(), np.array([8, 9], 'int8'))
np.testing.assert_array_equal(v5.numpy(), np.array([[5, 4, 4, 3], [4, 3, 3, 3], [3, 3, 3, 3]], 'int32'))
np.testing.assert_array_equal(v21.numpy(), np.array([[True, True, True, True], [True, True, True, True]], 'bool'))
np.testing.assert_array_equal(v0.numpy(), np.array([[9, 4, 4, -3], [4, -3, -1, -2], [-6, 1, 1, -4]], 'int32'))
np.testing.assert_array_equal(v19.numpy(), np.array([[True, True, True, True], [True, True, True, True]], 'bool'))
np.testing.assert_array_equal(v17.numpy(), np.array([0, 0, 0, 0], 'int32'))
np.testing.assert_array_equal(v20.numpy(), np.array([[6, 2, 4, 0]], 'uint64'))
