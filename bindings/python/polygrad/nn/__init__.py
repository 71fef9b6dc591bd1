"""Layers, optimizers, and tools for training loops.

>>> from polygrad.nn import Linear, SGD, get_parameters
>>> model = Linear(2, 1)
>>> optimizer = SGD(get_parameters(model), lr=0.1)
>>> loss = model(Tensor([[1.0, 2.0]])).square().mean()
>>> loss = loss.backward()
>>> optimizer.step()
"""

from polygrad.nn import layers, lr_scheduler, optim, state, utils
from polygrad.nn._layer import Sequential
from polygrad.nn.attention import MultiHeadAttention, TransformerBlock
from polygrad.nn.layers import *  # noqa: F403
from polygrad.nn.layers import BatchNorm as BatchNorm2d
from polygrad.nn.layers import BatchNorm as BatchNorm3d
from polygrad.nn.lr_scheduler import *  # noqa: F403
from polygrad.nn.optim import *  # noqa: F403
from polygrad.nn.state import get_parameters, get_state_dict, load_state_dict
from polygrad.nn.step import CompiledTrainingStep, compile_step
from polygrad.nn.utils import clip_grad_norm_, clip_grad_value_

__all__ = [
    *layers.__all__,
    *lr_scheduler.__all__,
    *optim.__all__,
    "BatchNorm2d",
    "BatchNorm3d",
    "CompiledTrainingStep",
    "MultiHeadAttention",
    "Sequential",
    "TransformerBlock",
    "clip_grad_norm_",
    "clip_grad_value_",
    "compile_step",
    "get_parameters",
    "get_state_dict",
    "load_state_dict",
    "lr_scheduler",
    "optim",
    "state",
    "utils",
]
