"""Integers whose bits are those of a NaN go through a view of float64."""

from polygrad import Tensor

x = Tensor([1.0], dtype="float64").cat(Tensor([-2.5], dtype="float64"), dim=0).bitcast("int64")
x[0:2:1] = -1
assert x.tolist() == [-1, -1]
