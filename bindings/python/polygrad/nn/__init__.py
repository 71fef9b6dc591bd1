"""Layers, optimizers, and what a training loop needs beside them.

>>> from polygrad.nn import Linear, SGD, get_parameters
>>> model = Linear(2, 1)
>>> optimizer = SGD(get_parameters(model), lr=0.1)
>>> loss = model(Tensor([[1.0, 2.0]])).square().mean()
>>> loss = loss.backward()
>>> optimizer.step()
"""

from polygrad.nn.layers import Dropout, Embedding, GroupNorm, LayerNorm, Linear, RMSNorm
from polygrad.nn.optim import SGD, Adam, AdamW, Optimizer
from polygrad.nn.spatial import (
    BatchNorm,
    Conv1d,
    Conv2d,
    ConvTranspose1d,
    ConvTranspose2d,
    InstanceNorm,
)
from polygrad.nn.state import get_parameters, get_state_dict, load_state_dict
from polygrad.nn.step import CompiledTrainingStep, compile_step

BatchNorm2d = BatchNorm3d = BatchNorm

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "BatchNorm",
    "BatchNorm2d",
    "BatchNorm3d",
    "CompiledTrainingStep",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "InstanceNorm",
    "LayerNorm",
    "Linear",
    "Optimizer",
    "RMSNorm",
    "compile_step",
    "get_parameters",
    "get_state_dict",
    "load_state_dict",
]
