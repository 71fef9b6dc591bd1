"""Tensors with gradients and a compiler of their own.

>>> from polygrad import Tensor
>>> (Tensor([1.0, 2.0]) * 3).numpy()
array([3., 6.], dtype=float32)
"""

from polygrad._job import Job
from polygrad.device import Device
from polygrad.dtype import DType, dtypes
from polygrad.instance import Instance
from polygrad.jit import TinyJit
from polygrad.tensor import Tensor
from polygrad.variable import Variable

from polygrad import viz  # isort: skip  # imports Tensor from this package

__all__ = ["DType", "Device", "Instance", "Job", "Tensor", "TinyJit", "Variable", "dtypes", "viz"]
__version__ = "2.0.0"
