"""Layers, optimizers, and tools for training loops.

>>> from polygrad.nn import Linear, SGD, get_parameters
>>> model = Linear(2, 1)
>>> optimizer = SGD(get_parameters(model), lr=0.1)
>>> loss = model(Tensor([[1.0, 2.0]])).square().mean()
>>> loss = loss.backward()
>>> optimizer.step()
"""

from polygrad.nn import lr_scheduler, optim, state, utils
from polygrad.nn.attention import MultiHeadAttention, TransformerBlock
from polygrad.nn.layers import (
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    LayerNorm2d,
    Linear,
    RMSNorm,
    Sequential,
)
from polygrad.nn.lr_scheduler import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingLRWithWarmup,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    LRSchedulerGroup,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from polygrad.nn.optim import (
    LAMB,
    LARS,
    SGD,
    Adam,
    AdamW,
    Muon,
    Optimizer,
    OptimizerGroup,
)
from polygrad.nn.recurrent import LSTM, LSTMCell
from polygrad.nn.spatial import (
    BatchNorm,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    InstanceNorm,
)
from polygrad.nn.state import get_parameters, get_state_dict, load_state_dict
from polygrad.nn.step import CompiledTrainingStep, compile_step
from polygrad.nn.utils import clip_grad_norm_, clip_grad_value_

BatchNorm2d = BatchNorm3d = BatchNorm

__all__ = [
    "LAMB",
    "LARS",
    "LSTM",
    "SGD",
    "Adam",
    "AdamW",
    "BatchNorm",
    "BatchNorm2d",
    "BatchNorm3d",
    "CompiledTrainingStep",
    "ConstantLR",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "CosineAnnealingLR",
    "CosineAnnealingLRWithWarmup",
    "CosineAnnealingWarmRestarts",
    "Dropout",
    "Embedding",
    "ExponentialLR",
    "GroupNorm",
    "InstanceNorm",
    "LRScheduler",
    "LRSchedulerGroup",
    "LSTMCell",
    "LambdaLR",
    "LayerNorm",
    "LayerNorm2d",
    "Linear",
    "LinearLR",
    "MultiHeadAttention",
    "MultiStepLR",
    "Muon",
    "OneCycleLR",
    "Optimizer",
    "OptimizerGroup",
    "PolynomialLR",
    "RMSNorm",
    "ReduceLROnPlateau",
    "Sequential",
    "SequentialLR",
    "StepLR",
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
