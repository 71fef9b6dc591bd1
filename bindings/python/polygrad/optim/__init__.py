"""Optimizers as gradient transformations, with the names and meaning of optax.

An optimizer is a pair of functions: init(params) returns a state, update(grads, state, params) the
steps and the next state. All are trees, and nothing is written in place, so an optimizer can be
compiled by polygrad.func.jit, batched by vmap and used in lax.scan. polygrad.nn.optim has the
other kind: objects that hold parameters and write into them, as PyTorch's and tinygrad's.

>>> from polygrad import Tensor, optim
>>> from polygrad.func import jit, value_and_grad
>>> optimizer = optim.chain(optim.clip_by_global_norm(1.0), optim.adam(0.1))
>>> @jit
... def step(params, state, x, y):
...     loss, grads = value_and_grad(lambda p: ((x * p["w"] + p["b"] - y) ** 2).mean())(params)
...     updates, state = optimizer.update(grads, state, params)
...     return optim.apply_updates(params, updates), state, loss
>>> params = {"w": Tensor(0.0), "b": Tensor(0.0)}
>>> state = optimizer.init(params)
>>> x = Tensor([0.0, 1.0, 2.0])
>>> for _ in range(300):
...     params, state, loss = step(params, state, x, x * 2 + 1)
>>> round(params["w"].item(), 2), round(params["b"].item(), 2)
(2.0, 1.0)

Without jit each step first computes the lazy results of the previous one: one program per step.
"""

from polygrad.optim import (
    _base,
    _masks,
    _optimizers,
    _rules,
    _schedules,
    _states,
    _transforms,
    _wrappers,
    contrib,
    losses,
    projections,
    tree,
)
from polygrad.optim._base import *
from polygrad.optim._masks import *
from polygrad.optim._optimizers import *
from polygrad.optim._rules import *
from polygrad.optim._schedules import *
from polygrad.optim._states import *
from polygrad.optim._transforms import *
from polygrad.optim._wrappers import *
from polygrad.optim.losses import *
from polygrad.optim.tree import (
    bias_correction,
    update_infinity_moment,
    update_moment,
    update_moment_per_elem_norm,
)

#: tree by its other name.
tree_utils = tree

__all__ = [
    "bias_correction",
    "contrib",
    "losses",
    "projections",
    "tree",
    "tree_utils",
    "update_infinity_moment",
    "update_moment",
    "update_moment_per_elem_norm",
]
__all__ += losses.__all__
__all__ += _base.__all__
__all__ += _masks.__all__
__all__ += _optimizers.__all__
__all__ += _rules.__all__
__all__ += _schedules.__all__
__all__ += _states.__all__
__all__ += _transforms.__all__
__all__ += _wrappers.__all__
