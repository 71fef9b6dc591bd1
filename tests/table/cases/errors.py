"""Calls that must fail, and what their messages must say."""

from __future__ import annotations

import numpy as np

from cases.builder import Tensor, error


def add() -> None:
    """Add the cases of this group."""
    x = Tensor(np.zeros([2, 3]))
    y = Tensor(np.zeros([4]))
    whole = Tensor(np.zeros([2, 3], int), "int32")
    for op in ("add", "sub", "mul", "div", "maximum", "lt", "eq"):
        error(f"{op} of shapes that do not broadcast", op, [x, y], "broadcast")
    for op in ("sum", "max", "mean", "argmax", "softmax", "cumsum", "any", "var"):
        error(f"{op} of an axis that is not there", op, [x], "out of range", {"axis": 2})
        error(f"{op} of a negative axis that is not there", op, [x], "out of range", {"axis": -3})
    error("sum of an axis twice", "sum", [x], "twice", {"axis": [0, 0]})
    error("reshape to another number of elements", "reshape", [x], "reshape", {"shape": [4]})
    error("reshape with two unknown sizes", "reshape", [x], "reshape", {"shape": [-1, -1]})
    error("expand of an axis that is not 1", "expand", [x], "expand", {"shape": [2, 4]})
    error("expand to fewer axes", "expand", [x], "expand", {"shape": [3]})
    error("permute with too few axes", "permute", [x], "permute", {"order": [0]})
    error("permute with an axis twice", "permute", [x], "permute", {"order": [0, 0]})
    error("flip of an axis that is not there", "flip", [x], "out of range", {"axis": [2]})
    error(
        "transpose of an axis that is not there",
        "transpose",
        [x],
        "out of range",
        {"dim0": 0, "dim1": 2},
    )
    error("unsqueeze beyond the last axis", "unsqueeze", [x], "out of range", {"dim": 3})
    error(
        "unflatten with a wrong product", "unflatten", [x], "unflatten", {"dim": 1, "sizes": [2, 2]}
    )
    error("shrink beyond the end", "shrink", [x], "shrink", {"arg": [[0, 2], [1, 4]]})
    error("repeat a negative number of times", "repeat", [x], "repeat", {"repeats": [-1, 1]})
    error(
        "cat of shapes that differ",
        "cat",
        [x, Tensor(np.zeros([2, 4]))],
        "cat",
        {"dim": 0},
        kind="list",
    )
    error(
        "stack of shapes that differ",
        "stack",
        [x, Tensor(np.zeros([2, 4]))],
        "stack",
        {"dim": 0},
        kind="list",
    )
    error("split with a wrong sum", "split", [x], "split", {"sizes": [1, 1], "dim": 1})
    error("matmul of shapes that do not fit", "matmul", [x, Tensor(np.zeros([4, 2]))], "multiply")
    error("linear of shapes that do not fit", "linear", [x, Tensor(np.zeros([4, 2]))], "shape")
    error(
        "einsum with a wrong number of axes",
        "einsum",
        [x],
        "einsum",
        {"formula": "ijk->i"},
        kind="list",
    )
    error(
        "einsum with an unknown letter", "einsum", [x], "einsum", {"formula": "ij->k"}, kind="list"
    )
    error(
        "einsum of sizes that differ",
        "einsum",
        [x, Tensor(np.zeros([2, 2]))],
        "einsum",
        {"formula": "ij,jk->ik"},
        kind="list",
    )
    error(
        "rearrange with an unknown name", "rearrange", [x], "rearrange", {"formula": "a b -> a c"}
    )
    error(
        "rearrange that does not divide",
        "rearrange",
        [x],
        "rearrange",
        {"formula": "a (b c) -> a b c", "sizes": {"b": 2}},
    )
    error("getitem beyond the end", "getitem", [x], "out of bounds", {"items": [2]}, kind="index")
    error(
        "getitem with too many items", "getitem", [x], "index", {"items": [0, 0, 0]}, kind="index"
    )
    error(
        "getitem with a step of 0",
        "getitem",
        [x],
        "step",
        {"items": [{"slice": [None, None, 0]}]},
        kind="index",
    )
    at = Tensor([[0.5]], "float32")
    error(
        "getitem with a float tensor",
        "getitem",
        [x, at],
        "integer",
        {"items": [{"input": 1}]},
        kind="index",
    )
    error(
        "gather with another number of axes",
        "gather",
        [x, Tensor([0], "int32", index=True)],
        "gather",
        {"dim": 0, "index": {"input": 1}},
    )
    error("bitwise_and of floats", "bitwise_and", [x, x], "integer")
    error("bitwise_not of floats", "bitwise_not", [x], "integer")
    error("lshift of floats", "lshift", [x, x], "integer")
    error("lshift beyond the width", "lshift", [whole, 32], "shift")
    error("pow of integers to a negative number", "pow", [whole, -1], "floating")
    error("cholesky of a matrix that is not square", "cholesky", [x], "cholesky")
    error(
        "triangular_solve of shapes that do not fit",
        "triangular_solve",
        [Tensor(np.eye(2)), Tensor(np.zeros([3]))],
        "need",
    )
    error(
        "cross_entropy of shapes that do not fit",
        "cross_entropy",
        [x, Tensor([0, 1, 2], "int32", index=True)],
        "shape",
    )
    error("dropout with a probability above 1", "dropout", [x], "p", {"p": 1.5})
    error(
        "arange with a step of 0",
        "arange",
        [],
        "step",
        {"start": 0, "stop": 3, "step": 0, "dtype": "int32"},
        kind="static",
    )
    error("zeros of a negative size", "zeros", [], "shape", {"shape": [2, -1]}, kind="static")
    error(
        "randint of an empty range",
        "randint",
        [],
        "low",
        {"shape": [2], "low": 3, "high": 3},
        kind="static",
    )
    error(
        "bitcast to a size that does not divide",
        "bitcast",
        [Tensor(np.zeros([3], int), "uint8")],
        "bitcast",
        {"dtype": "int32"},
    )
    image, filters = Tensor(np.zeros([1, 2, 4, 4])), Tensor(np.zeros([3, 1, 2, 2]))
    error("conv2d of channels that do not fit", "conv2d", [image, filters], "weight")
    error(
        "conv2d with a stride of 0",
        "conv2d",
        [image, Tensor(np.zeros([3, 2, 2, 2]))],
        "stride",
        {"stride": 0},
    )
    error("max_pool2d with a window of 0", "max_pool2d", [image], "kernel", {"kernel_size": [0, 2]})
    error("topk of more than there are", "topk", [x], "k", {"k": 4})
    error("sort of an axis that is not there", "sort", [x], "out of range", {"dim": 2})
    error(
        "scatter of another number of axes",
        "scatter",
        [x, Tensor([0], "int32", index=True), Tensor([1.0])],
        "scatter",
        {"dim": 0, "index": {"input": 1}, "src": {"input": 2}},
    )
    error("solve of a matrix that is not square", "solve", [x, Tensor(np.zeros([2]))], "need")
    error("inv of a matrix that is not square", "inv", [x], "need")
    error(
        "interpolate to a negative size",
        "interpolate",
        [image],
        "size",
        {"size": [-1, 2], "mode": "linear"},
    )
    error("groupnorm of groups that do not divide", "groupnorm", [image], "groups", {"groups": 3})
    error("mse_loss of integers", "mse_loss", [whole, whole], "float")
    error(
        "roll of an axis that is not there", "roll", [x], "out of range", {"shifts": 1, "dims": 2}
    )
    error(
        "unfold of a window that is too large",
        "unfold",
        [x],
        "size",
        {"dim": 1, "size": 4, "step": 1},
    )
    error(
        "pad by reflection beyond the size",
        "pad",
        [x],
        "pad",
        {"padding": [[0, 0], [3, 0]], "mode": "reflect"},
    )
    error(
        "randint of floats",
        "randint",
        [],
        "integer",
        {"shape": [2], "low": 0, "high": 3, "dtype": "float32"},
        kind="static",
    )
    error("rand of integers", "rand", [], "float", {"shape": [2], "dtype": "int32"}, kind="static")
