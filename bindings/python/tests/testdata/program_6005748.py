"""A random program that has failed, of seed 6005748 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([[3], [8], [-8]], 'int16'))
v1 = Tensor(np.array([[4, 2, 0], [0, 8, 5], [0, 4294967294, 5]], 'uint32'))
v2 = Tensor(np.array([[[-8], [32766], [-7], [3]], [[4], [3], [-32768], [2]], [[6], [-1], [-7], [-3]]], 'int16'))
v3 = v1.permute((0, 1))
Tensor.realize(v1)
v5 = v0.min(axis=None, keepdim=False)
v6 = v1.clip(9, 2147483648)
v0[2] = 3
v8 = v5.maximum(v2)
np.testing.assert_array_equal(v0.numpy(), np.array([[3], [8], [3]], 'int16'))
v5 *= v5
v11 = v6.maximum(v6)
np.testing.assert_array_equal(v11.numpy(), np.array([[9, 9, 9], [9, 9, 9], [9, 2147483648, 9]], 'uint32'))
np.testing.assert_array_equal(v6.numpy(), np.array([[9, 9, 9], [9, 9, 9], [9, 2147483648, 9]], 'uint32'))
v14 = v8.permute((1, 2, 0))
v15 = v11 ^ 4
np.testing.assert_array_equal(v11.numpy(), np.array([[9, 9, 9], [9, 9, 9], [9, 2147483648, 9]], 'uint32'))
v0[-3] = -3
v3 -= v15
v19 = v6.pad(((0, 1), (0, 2)), value=8)
v20 = v14.argmax(axis=2, keepdim=False)
np.testing.assert_array_equal(v5.numpy(), np.array(64, 'int16'))
np.testing.assert_array_equal(v3.numpy(), np.array([[4294967287, 4294967285, 4294967283], [4294967283, 4294967291, 4294967288], [4294967283, 2147483642, 4294967288]], 'uint32'))
np.testing.assert_array_equal(v6.numpy(), np.array([[9, 9, 9], [9, 9, 9], [9, 2147483648, 9]], 'uint32'))
np.testing.assert_array_equal(v0.numpy(), np.array([[-3], [8], [3]], 'int16'))
np.testing.assert_array_equal(v8.numpy(), np.array([[[-8], [32766], [-7], [3]], [[4], [3], [-8], [2]], [[6], [-1], [-7], [-3]]], 'int16'))
np.testing.assert_array_equal(v19.numpy(), np.array([[9, 9, 9, 8, 8], [9, 9, 9, 8, 8], [9, 2147483648, 9, 8, 8], [8, 8, 8, 8, 8]], 'uint32'))
np.testing.assert_array_equal(v11.numpy(), np.array([[9, 9, 9], [9, 9, 9], [9, 2147483648, 9]], 'uint32'))
np.testing.assert_array_equal(v14.numpy(), np.array([[[-8, 4, 6]], [[32766, 3, -1]], [[-7, -8, -7]], [[3, 2, -3]]], 'int16'))
np.testing.assert_array_equal(v2.numpy(), np.array([[[-8], [32766], [-7], [3]], [[4], [3], [-32768], [2]], [[6], [-1], [-7], [-3]]], 'int16'))
np.testing.assert_array_equal(v15.numpy(), np.array([[13, 13, 13], [13, 13, 13], [13, 2147483652, 13]], 'uint32'))
np.testing.assert_array_equal(v20.numpy(), np.array([[2], [0], [0], [0]], 'int32'))
np.testing.assert_array_equal(v1.numpy(), np.array([[4294967287, 4294967285, 4294967283], [4294967283, 4294967291, 4294967288], [4294967283, 2147483642, 4294967288]], 'uint32'))
