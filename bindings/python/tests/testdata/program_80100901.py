"""A sum of bfloat16 that every operation represents exactly."""

from polygrad import Tensor

x = Tensor([-18.0]).cast("bfloat16")
assert ((x - 1.625).minimum(x.clip(0.25, 256.0)) + (x - 1.625)).item() == -39.25
