"""A random program that has failed, of seed 7005189 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array(7, 'int16'))
v1 = Tensor(np.array([9], 'uint16'))
v2 = v1[0:1:2]
v3 = v2 - v2
v4 = v2.roll(1, 0)
v5 = v4.pad(((2, 2),), value=8)
v6 = v5 == 1
v7 = v4.detach()
v6.assign(v6 | False)
v9 = v5.cast('int16').pad(((1, 2),), value=1)
v10 = v7.maximum(v1)
v11 = v6.minimum(v6)
v12 = v7 & v10
v1[0] = 0
v14 = v10 + 65533
v15 = v5.detach()
v16 = v15.cumsum(0)
v17 = v3.scatter_reduce(0, (v5 % 1).cast('int32'), v15, 'amax')
v14.assign(v17 + 0)
v19 = v14[(v1 % 1).cast('int32')]
v20 = v16.clip(3, 2147483648)
v10[0:1:2] = v1
v22 = v7.maximum(v14)
v23 = Tensor(np.array([8, 2, 4294967294], 'uint32'))
v24 = v22.clip(32768, 65535)
v25 = v24.maximum(v1)
np.testing.assert_array_equal(v10.numpy(), np.array([0], 'uint16'))
np.testing.assert_array_equal(v17.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v11.numpy(), np.array([False, False, False, False, False], 'bool'))
np.testing.assert_array_equal(v23.numpy(), np.array([8, 2, 4294967294], 'uint32'))
np.testing.assert_array_equal(v2.numpy(), np.array([0], 'uint16'))
np.testing.assert_array_equal(v15.numpy(), np.array([8, 8, 9, 8, 8], 'uint16'))
np.testing.assert_array_equal(v19.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v22.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v24.numpy(), np.array([32768], 'uint16'))
np.testing.assert_array_equal(v16.numpy(), np.array([8, 16, 25, 33, 41], 'uint32'))
np.testing.assert_array_equal(v4.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v3.numpy(), np.array([0], 'uint16'))
np.testing.assert_array_equal(v0.numpy(), np.array(7, 'int16'))
np.testing.assert_array_equal(v5.numpy(), np.array([8, 8, 9, 8, 8], 'uint16'))
np.testing.assert_array_equal(v6.numpy(), np.array([False, False, False, False, False], 'bool'))
np.testing.assert_array_equal(v7.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v12.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v9.numpy(), np.array([1, 8, 8, 9, 8, 8, 1, 1], 'int16'))
np.testing.assert_array_equal(v20.numpy(), np.array([8, 16, 25, 33, 41], 'uint32'))
np.testing.assert_array_equal(v25.numpy(), np.array([32768], 'uint16'))
np.testing.assert_array_equal(v14.numpy(), np.array([9], 'uint16'))
np.testing.assert_array_equal(v1.numpy(), np.array([0], 'uint16'))
