"""PyTorch's functions of operations, where the names differ."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from sweep.cases import NoCounterpart, Program, counterpart

Tensor = Any
PLACES = (torch.Tensor, torch, F, torch.special, torch.linalg)


def _window(name: str) -> Callable[..., Tensor]:
    """Return a pooling or convolution function for the number of spatial axes of x."""
    return lambda x, *a, **k: getattr(F, name.format(x.ndim - 2))(x, *a, **k)


def _interpolate(x: Tensor, size: Any, mode: str = "linear", **options: Any) -> Tensor:
    mode = "bilinear" if mode == "linear" and x.ndim == 4 else mode
    return F.interpolate(x, size, mode=mode, **options)


def _batchnorm(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, invstd: Tensor) -> Tensor:
    if not torch.is_grad_enabled():
        return F.batch_norm(x, mean, invstd**-2, weight, bias, eps=0)
    scale = (weight * invstd)[:, None, None]
    return (x - mean[:, None, None]) * scale + bias[:, None, None]


def _batchnorm_stats(x: Tensor) -> tuple[Tensor, Tensor]:
    var, mean = torch.var_mean(x, (0, 2, 3), correction=0)
    return mean, var


def _with_item(x: Tensor, items: Any, value: Tensor) -> Tensor:
    y = x.clone()
    y[tuple(items)] = value
    return y


def _newton_schulz(x: Tensor, steps: int, params: Any, eps: float = 1e-7) -> Tensor:
    a, b, c = params
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    x = x / (x.norm() + eps)
    for _ in range(steps):
        y = x @ x.T
        x = a * x + (b * y + c * (y @ y)) @ x
    return x.T if turned else x


def _to(x: Tensor, dtype: str) -> Tensor:
    return x.to(getattr(torch, dtype))


NAMES: dict[str, Callable[..., Any] | None] = {
    "floordiv": torch.floor_divide,
    "idiv": functools.partial(torch.div, rounding_mode="trunc"),
    "mod": torch.remainder,
    "lshift": torch.bitwise_left_shift,
    "rshift": torch.bitwise_right_shift,
    "where": torch.where,
    "allclose": lambda x, y: torch.isclose(x, y).all(),
    "round": torch.round,
    "ndtri": torch.special.ndtri,
    "isinf": torch.isinf,
    "gelu": functools.partial(F.gelu, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "swish": F.silu,
    "cast": _to,
    "bitcast": lambda x, dtype: x.view(getattr(torch, dtype)),
    "contiguous_backward": lambda x: x,
    "max": torch.amax,
    "min": torch.amin,
    "logsumexp": lambda x, dim=(0, 1): torch.logsumexp(x, dim),
    "softmax": F.softmax,
    "transpose": lambda x: x.transpose(0, 1),
    "T": lambda x: x.T,
    "shrink": lambda x, arg: x[tuple(slice(*pair) for pair in arg)],
    "pad": F.pad,
    "shrink_to": lambda x, shape: x[: shape[0], : shape[1]],
    "pad_to": lambda x, shape: F.pad(x, (0, shape[1] - x.shape[1], 0, shape[0] - x.shape[0])),
    "rearrange": lambda x, formula: x.T,
    "cat": torch.cat,
    "stack": torch.stack,
    "meshgrid": functools.partial(torch.meshgrid, indexing="ij"),
    "split": lambda x, sizes, dim: torch.split(x, list(sizes), dim),
    "getitem": lambda x, items: x[tuple(items)],
    "with_item": _with_item,
    "embedding": lambda x, index: F.embedding(index, x),
    "linear": lambda x, weight, bias: torch.addmm(bias, x, weight),
    "einsum": lambda xs, formula: torch.einsum(formula, *xs),
    "cholesky": torch.linalg.cholesky,
    "triangular_solve": functools.partial(torch.linalg.solve_triangular, upper=False),
    "solve": torch.linalg.solve,
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "slogdet": torch.linalg.slogdet,
    "qr": torch.linalg.qr,
    "svd": torch.linalg.svd,
    "eigh": torch.linalg.eigh,
    "lstsq": torch.linalg.lstsq,
    "newton_schulz": _newton_schulz,
    "keccak": None,
    "hash": None,
    "conv2d": _window("conv{}d"),
    "conv_transpose2d": _window("conv_transpose{}d"),
    "avg_pool2d": _window("avg_pool{}d"),
    "max_pool2d": _window("max_pool{}d"),
    "max_pool2d_with_indices": lambda x, *a, **k: _window("max_pool{}d")(
        x, *a, return_indices=True, **k
    ),
    "interpolate": _interpolate,
    "ctc_loss": F.ctc_loss,
    "im2col": F.unfold,
    "col2im": F.fold,
    "layernorm": lambda x, weight=None, bias=None: F.layer_norm(x, x.shape[-1:], weight, bias),
    "rmsnorm": lambda x, weight=None: F.rms_norm(x, x.shape[-1:], weight, 1e-5),
    "groupnorm": lambda x, groups, weight=None, bias=None: F.group_norm(x, groups, weight, bias),
    "batchnorm": _batchnorm,
    "batchnorm_stats": _batchnorm_stats,
    "cross_entropy": F.cross_entropy,
    "sparse_categorical_crossentropy": F.cross_entropy,
    "binary_crossentropy": F.binary_cross_entropy,
    "binary_crossentropy_logits": F.binary_cross_entropy_with_logits,
    "histogram": lambda x, bins, low, high: torch.histogram(x, bins, range=(low, high)),
    "unique": functools.partial(torch.unique, return_inverse=True, return_counts=True),
    "empty": None,
    "empty_like": None,
    "const_like": torch.full_like,
    "randint": lambda shape: torch.randint(0, 10, shape, dtype=torch.int32),
    "randperm": functools.partial(torch.randperm, dtype=torch.int32),
    "normal": torch.randn,
    "kaiming_normal": torch.randn,
    **dict.fromkeys(("uniform", "scaled_uniform", "glorot_uniform", "kaiming_uniform"), torch.rand),
}


def _owned(y: Tensor, inputs: Any) -> Tensor:
    """Return a copy of a result that is a view: polygrad's results own their memory."""
    memory = y.untyped_storage().data_ptr()
    if any(memory == x.untyped_storage().data_ptr() for x in inputs) or not y.is_contiguous():
        return y.clone(memory_format=torch.contiguous_format)
    return y


function = functools.cache(functools.partial(counterpart, names=NAMES, places=PLACES))


def run(program: Program, *arrays: Tensor) -> list[Tensor]:
    """Return the results of a call; and gradients, if those by the results are given."""
    call = function(program.op["Name"])
    named = functools.partial(_renamed, call)
    inputs, upstream = arrays[: program.inputs], arrays[program.inputs :]
    if not upstream:
        return [_owned(y, inputs) for y in _several(program.apply(named, inputs))]
    if program.op["Name"] == "ctc_loss":
        raise NoCounterpart("PyTorch's gradient is that of log_softmax and the loss")
    with torch.enable_grad():
        inputs = tuple(x.detach().requires_grad_(x.is_floating_point()) for x in inputs)
        results = [y for y in _several(program.apply(named, inputs)) if y.is_floating_point()]
        wanted = [x for x in inputs if x.requires_grad]
        gradients = torch.autograd.grad(results, wanted, upstream)
    return [_owned(y.detach(), (*inputs, *upstream)) for y in (*results, *gradients)]


def _several(result: Any) -> Any:
    return result if isinstance(result, (tuple, list)) else [result]


def _renamed(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    if "axis" in options:
        options["dim"] = options.pop("axis")
    return call(*args, **options)
