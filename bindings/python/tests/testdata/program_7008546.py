"""A random program that has failed, of seed 7008546 then."""

# fmt: off
import numpy as np

from polygrad import Tensor

v0 = Tensor(np.array([[[2.5, 2.75, 4.625], [-0.5, -3.125, 0.875], [2.125, 3.0, -2.75]]], 'float64'), requires_grad=True)
v1 = Tensor(np.array([[1, 4294967294, 4, 6], [0, 0, 0, 1], [0, 9, 9, 6]], 'uint32'))
v2 = v0.contiguous()
v3 = v2 == -1.125
v4 = v1 <= 9
v5 = v2.contiguous()
Tensor.realize(v5, v1, v2, v4)
np.testing.assert_array_equal(v5.numpy(), np.array([[[2.5, 2.75, 4.625], [-0.5, -3.125, 0.875], [2.125, 3.0, -2.75]]], 'float64'))
v8 = v2.relu()
Tensor.realize(v5, v4)
v10 = v3.cat(v3, dim=0)
v11 = v2 + v5
v12 = v5 - v2
v13 = v12.min(axis=2, keepdim=False)
v13.sum().backward()
np.testing.assert_allclose(v0.grad.numpy(), np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], 'float64'), 1e-2, 1e-2)
np.testing.assert_array_equal(v2.numpy(), np.array([[[2.5, 2.75, 4.625], [-0.5, -3.125, 0.875], [2.125, 3.0, -2.75]]], 'float64'))
np.testing.assert_array_equal(v3.numpy(), np.array([[[False, False, False], [False, False, False], [False, False, False]]], 'bool'))
np.testing.assert_array_equal(v5.numpy(), np.array([[[2.5, 2.75, 4.625], [-0.5, -3.125, 0.875], [2.125, 3.0, -2.75]]], 'float64'))
np.testing.assert_array_equal(v13.numpy(), np.array([[0.0, 0.0, 0.0]], 'float64'))
np.testing.assert_array_equal(v10.numpy(), np.array([[[False, False, False], [False, False, False], [False, False, False]], [[False, False, False], [False, False, False], [False, False, False]]], 'bool'))
np.testing.assert_array_equal(v4.numpy(), np.array([[True, False, True, True], [True, True, True, True], [True, True, True, True]], 'bool'))
np.testing.assert_array_equal(v1.numpy(), np.array([[1, 4294967294, 4, 6], [0, 0, 0, 1], [0, 9, 9, 6]], 'uint32'))
np.testing.assert_array_equal(v11.numpy(), np.array([[[5.0, 5.5, 9.25], [-1.0, -6.25, 1.75], [4.25, 6.0, -5.5]]], 'float64'))
np.testing.assert_array_equal(v12.numpy(), np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]], 'float64'))
np.testing.assert_array_equal(v8.numpy(), np.array([[[2.5, 2.75, 4.625], [0.0, 0.0, 0.875], [2.125, 3.0, 0.0]]], 'float64'))
np.testing.assert_array_equal(v0.numpy(), np.array([[[2.5, 2.75, 4.625], [-0.5, -3.125, 0.875], [2.125, 3.0, -2.75]]], 'float64'))
