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
        error(f"{op} of shapes that do not broadcast", op, [x, y], "do not broadcast")
    for op in ("sum", "max", "mean", "argmax", "softmax", "cumsum", "any", "var"):
        error(f"{op} of an axis that is not there", op, [x], "out of range", {"axis": 2})
        error(f"{op} of a negative axis that is not there", op, [x], "out of range", {"axis": -3})
    error("sum of an axis twice", "sum", [x], "given twice", {"axis": [0, 0]})
    error("reshape to another number of elements", "reshape", [x], "cannot reshape", {"shape": [4]})
    error("reshape with two unknown sizes", "reshape", [x], "more than one -1", {"shape": [-1, -1]})
    error("expand of an axis that is not 1", "expand", [x], "cannot broadcast", {"shape": [2, 4]})
    error("expand to fewer axes", "expand", [x], "cannot broadcast", {"shape": [3]})
    error("permute with too few axes", "permute", [x], "is no permutation", {"order": [0]})
    error("permute with an axis twice", "permute", [x], "given twice", {"order": [0, 0]})
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
        "unflatten with a wrong product",
        "unflatten",
        [x],
        "cannot reshape",
        {"dim": 1, "sizes": [2, 2]},
    )
    error(
        "shrink beyond the end",
        "shrink",
        [x],
        "is out of range for axis",
        {"arg": [[0, 2], [1, 4]]},
    )
    error(
        "repeat a negative number of times",
        "repeat",
        [x],
        "expected 0 or more",
        {"repeats": [-1, 1]},
    )
    error(
        "cat of shapes that differ",
        "cat",
        [x, Tensor(np.zeros([2, 4]))],
        "expected the shape (2,3) of the first one outside",
        {"dim": 0},
        kind="list",
    )
    error(
        "stack of shapes that differ",
        "stack",
        [x, Tensor(np.zeros([2, 4]))],
        "expected the shape (2,3) of the first one",
        {"dim": 0},
        kind="list",
    )
    error("split with a wrong sum", "split", [x], "add up to 2", {"sizes": [1, 1], "dim": 1})
    error(
        "matmul of shapes that do not fit",
        "matmul",
        [x, Tensor(np.zeros([4, 2]))],
        "do not multiply",
    )
    error(
        "linear of shapes that do not fit",
        "linear",
        [x, Tensor(np.zeros([4, 2]))],
        "in the last size of x",
    )
    error(
        "einsum with a wrong number of axes",
        "einsum",
        [x],
        "has 3 letters, expected 2",
        {"formula": "ijk->i"},
        kind="list",
    )
    error(
        "einsum with an unknown letter",
        "einsum",
        [x],
        "is in no operand",
        {"formula": "ij->k"},
        kind="list",
    )
    error(
        "einsum of sizes that differ",
        "einsum",
        [x, Tensor(np.zeros([2, 2]))],
        "stands for sizes 3 and 2",
        {"formula": "ij,jk->ik"},
        kind="list",
    )
    error(
        "rearrange with an unknown name",
        "rearrange",
        [x],
        "is only on one side",
        {"formula": "a b -> a c"},
    )
    error(
        "rearrange that does not divide",
        "rearrange",
        [x],
        "expected a multiple of the group's 2",
        {"formula": "a (b c) -> a b c", "sizes": {"b": 2}},
    )
    error("getitem beyond the end", "getitem", [x], "out of bounds", {"items": [2]}, kind="index")
    error(
        "getitem with too many items",
        "getitem",
        [x],
        "too many entries",
        {"items": [0, 0, 0]},
        kind="index",
    )
    error(
        "getitem with a step of 0",
        "getitem",
        [x],
        "a slice has step 0",
        {"items": [{"slice": [None, None, 0]}]},
        kind="index",
    )
    at = Tensor([[0.5]], "float32")
    error(
        "getitem with a float tensor",
        "getitem",
        [x, at],
        "expected an integer type",
        {"items": [{"input": 1}]},
        kind="index",
    )
    error(
        "gather with another number of axes",
        "gather",
        [x, Tensor([0], "int32", index=True)],
        "expected 2 dimensions as x",
        {"dim": 0, "index": {"input": 1}},
    )
    error("bitwise_and of floats", "bitwise_and", [x, x], "expected an integer or bool type")
    error("bitwise_not of floats", "bitwise_not", [x], "expected an integer or bool type")
    error("lshift of floats", "lshift", [x, x], "expected an integer type")
    error("lshift by a number below 0", "lshift", [whole, -1], "expected an integer of at least 0")
    error(
        "pow of integers to a negative number",
        "pow",
        [whole, -1],
        "to the power -1 are no integers",
    )
    error("cholesky of a matrix that is not square", "cholesky", [x], "expected square matrices")
    error(
        "triangular_solve of shapes that do not fit",
        "triangular_solve",
        [Tensor(np.eye(2)), Tensor(np.zeros([3]))],
        "b: has shape",
    )
    error(
        "cross_entropy of shapes that do not fit",
        "cross_entropy",
        [x, Tensor([0, 1, 2], "int32", index=True)],
        "for classes or",
    )
    error("dropout with a probability above 1", "dropout", [x], "1.5, expected 0 to 1", {"p": 1.5})
    error(
        "arange with a step of 0",
        "arange",
        [],
        "expected a number that is not 0",
        {"start": 0, "stop": 3, "step": 0, "dtype": "int32"},
        kind="static",
    )
    error(
        "zeros of a negative size",
        "zeros",
        [],
        "-1, expected 0 or more",
        {"shape": [2, -1]},
        kind="static",
    )
    error(
        "randint of an empty range",
        "randint",
        [],
        "is no range",
        {"shape": [2], "low": 3, "high": 3},
        kind="static",
    )
    error(
        "bitcast to a size that does not divide",
        "bitcast",
        [Tensor(np.zeros([3], int), "uint8")],
        "expected a type whose size divides",
        {"dtype": "int32"},
    )
    image, filters = Tensor(np.zeros([1, 2, 4, 4])), Tensor(np.zeros([3, 1, 2, 2]))
    error(
        "conv2d of channels that do not fit", "conv2d", [image, filters], "expected (out, in/groups"
    )
    error(
        "conv2d with a stride of 0",
        "conv2d",
        [image, Tensor(np.zeros([3, 2, 2, 2]))],
        "expected positive numbers",
        {"stride": 0},
    )
    error(
        "max_pool2d with a window of 0",
        "max_pool2d",
        [image],
        "expected positive numbers",
        {"kernel_size": [0, 2]},
    )
    error("topk of more than there are", "topk", [x], "4 is out of range for axis", {"k": 4})
    error("sort of an axis that is not there", "sort", [x], "out of range", {"dim": 2})
    error(
        "scatter of another number of axes",
        "scatter",
        [x, Tensor([0], "int32", index=True), Tensor([1.0])],
        "expected 2 dimensions as x",
        {"dim": 0, "index": {"input": 1}, "src": {"input": 2}},
    )
    error(
        "solve of a matrix that is not square",
        "solve",
        [x, Tensor(np.zeros([2]))],
        "expected square matrices",
    )
    error("inv of a matrix that is not square", "inv", [x], "expected square matrices")
    error(
        "interpolate to a negative size",
        "interpolate",
        [image],
        "expected positive numbers",
        {"size": [-1, 2], "mode": "linear"},
    )
    error(
        "groupnorm of groups that do not divide",
        "groupnorm",
        [image],
        "3, expected a divisor of",
        {"groups": 3},
    )
    error("mse_loss of integers", "mse_loss", [whole, whole], "expected a floating point type")
    error(
        "roll of an axis that is not there", "roll", [x], "out of range", {"shifts": 1, "dims": 2}
    )
    error(
        "unfold of a window that is too large",
        "unfold",
        [x],
        "4 is out of range for axis",
        {"dim": 1, "size": 4, "step": 1},
    )
    error(
        "pad by reflection that cuts off more than the size",
        "pad",
        [x],
        "expected no more cut off than its size",
        {"padding": [[0, 0], [-4, 0]], "mode": "reflect"},
    )
    error(
        "randint of floats",
        "randint",
        [],
        "expected an integer type",
        {"shape": [2], "low": 0, "high": 3, "dtype": "float32"},
        kind="static",
    )
    error(
        "rand of integers",
        "rand",
        [],
        "expected a floating type",
        {"shape": [2], "dtype": "int32"},
        kind="static",
    )
