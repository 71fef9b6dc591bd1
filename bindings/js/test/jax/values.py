"""Writes values.json: calls of polygrad/jax, and what JAX computes for them.

    python values.py >values.json

It needs jax and scipy. A call is a namespace, a name, arguments and options; arrays are {"array": nested lists, "dtype": name}.
Options are keyword arguments of JAX, whose names are those of JavaScript in snake case.
"""

import json
import re

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np

SPACES = {
    "numpy": jnp,
    "numpy.linalg": jnp.linalg,
    "nn": jax.nn,
    "lax": jax.lax,
    "scipySpecial": jax.scipy.special,
    "lax.linalg": jax.lax.linalg,
}
RENAMED = {"vander": {"n": "N"}}
NAMES = {"var_": "var", "hann": "hanning"}


def plain(x):
    if isinstance(x, list):
        return [plain(i) for i in x]
    return x if np.isfinite(x) else str(x).replace("inf", "Infinity").replace("nan", "NaN")


class A:
    def __init__(self, values, dtype="float32"):
        self.json = {"array": plain(values), "dtype": dtype}
        self.value = jnp.array(values, dtype)


def snake(name):
    return NAMES.get(name) or re.sub(r"(?<=[a-z])([A-Z])", lambda m: "_" + m.group(1).lower(), name)


def to_json(x):
    if isinstance(x, A):
        return x.json
    if isinstance(x, (list, tuple)):
        return [to_json(i) for i in x]
    if isinstance(x, dict):
        return {k: to_json(v) for k, v in x.items()}
    if isinstance(x, float) and not np.isfinite(x):
        return {"number": str(x)}
    return x


def to_python(x):
    if isinstance(x, A):
        return x.value
    if isinstance(x, list):
        return [to_python(i) for i in x]
    return x


def numbers(x):
    if isinstance(x, (list, tuple)):
        return [numbers(i) for i in x]
    flat = np.asarray(x)
    return {"shape": list(flat.shape), "values": [to_json(v.item()) for v in flat.reshape(-1)]}


X = A([[1.0, -2.0, 0.5], [3.0, 0.25, -1.5]])
Y = A([[0.5, 2.0, -1.0], [1.5, -0.75, 4.0]])
V, W = A([1.0, 4.0, 2.0, 8.0]), A([0.5, -1.0, 3.0, 2.0])
I, J = A([[7, -8, 3], [12, 5, -6]], "int32"), A([[2, 3, -4], [5, -3, 4]], "int32")
N = A([[1.0, float("nan"), 3.0], [float("nan"), -2.0, 5.0]])
P = A([0.2, 0.5, 0.9])
S = A([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
M = A([[1.0, 2.0, 0.0], [3.0, -1.0, 2.0], [0.5, 1.0, 4.0]])
E = A([-float("inf"), -2.5, -0.0, 0.5, 1.5, 2.5, float("inf"), float("nan")])
B = A([True, False, True], "bool")

CALLS = []


def call(space, name, *args, **options):
    CALLS.append((space, name, args, options))


for name in [
    "abs",
    "arctan",
    "arcsinh",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "negative",
    "positive",
    "rad2deg",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "square",
    "tan",
    "tanh",
    "trunc",
    "logicalNot",
    "cbrt",
    "round",
]:
    call("numpy", name, E)
    call("numpy", name, X)
for name in ["arccos", "arcsin", "arctanh", "log", "log10", "log1p", "log2", "reciprocal", "sqrt"]:
    call("numpy", name, P)
call("numpy", "arccosh", V)
for name in [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floorDivide",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "less",
    "lessEqual",
    "greater",
    "greaterEqual",
    "equal",
    "notEqual",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "arctan2",
    "hypot",
    "heaviside",
    "logicalAnd",
    "logicalOr",
    "logicalXor",
]:
    call("numpy", name, X, Y)
    call("numpy", name, X, 0.5)
    call("numpy", name, 0.5, Y)
for name in [
    "add",
    "subtract",
    "multiply",
    "floorDivide",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "bitwiseAnd",
    "bitwiseOr",
    "bitwiseXor",
    "less",
    "equal",
    "divide",
]:
    call("numpy", name, I, J)
    call("numpy", name, I, 2)
for name in ["bitwiseInvert", "bitwiseCount"]:
    call("numpy", name, I)
call("numpy", "leftShift", I, 2)
call("numpy", "rightShift", I, 1)
call("numpy", "power", V, W)
call("numpy", "power", I, 2)
call("numpy", "floatPower", I, 2)
call("numpy", "divmod", I, J)
call("numpy", "modf", X)
call("numpy", "frexp", X)
call("numpy", "ldexp", X, A([1, -2, 3], "int32"))
call("numpy", "round", A([1.2345, -2.5, 1234.5]), 2)
call("numpy", "round", A([1.2345, -2.5, 1234.5]), -2)
call("numpy", "clip", X, -1, 1)
call("numpy", "clip", I, 0, 6)
call("numpy", "nanToNum", E, nan=7.0, posinf=9.0)
call("numpy", "where", B, X, Y)
call("numpy", "where", B, 1.5, X)
call(
    "numpy",
    "select",
    [A([True, False, False], "bool"), A([True, True, False], "bool")],
    [P, A([1.0, 2.0, 3.0])],
    -1.0,
)
for name in ["sum", "prod", "mean", "max", "min", "ptp", "std", "any", "all", "countNonzero"]:
    call("numpy", name, X)
    call("numpy", name, X, 1)
    call("numpy", name, X, 0, keepdims=True)
    if name not in ("std", "mean"):
        call("numpy", name, I, -1)
call("numpy", "var_", X, 1, correction=1)
for name in ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]:
    call("numpy", name, N)
    call("numpy", name, N, 1)
for name in ["argmax", "argmin"]:
    call("numpy", name, X)
    call("numpy", name, X, 1, keepdims=True)
    call("numpy", "nan" + name, N, 1)
for name in ["cumsum", "cumprod", "nancumsum", "nancumprod"]:
    call("numpy", name, N if name.startswith("nan") else X)
    call("numpy", name, X, 1)
call("numpy", "cumulativeSum", V, includeInitial=True)
call("numpy", "cumulativeProd", X, axis=1)
call("numpy", "average", X, 1, weights=P)
call("numpy", "average", X)
call("numpy", "cov", X)
call("numpy", "cov", V, W)
call("numpy", "cov", X, rowvar=False)
call("numpy", "corrcoef", X)
call("numpy", "trapezoid", X)
call("numpy", "trapezoid", V, W)
call("numpy", "trapezoid", X, dx=0.5, axis=0)
call("numpy", "diff", X)
call("numpy", "diff", V, 2)
call("numpy", "diff", X, 1, 0)
call("numpy", "diff", V, prepend=0, append=A([9.0, 8.0]))
call("numpy", "ediff1d", X)
call("numpy", "unwrap", A([0.0, 3.5, 7.0, 1.0, -6.0]))
call("numpy", "sort", X)
call("numpy", "sort", X, 0)
call("numpy", "argsort", A([3.0, 1.0, 3.0, 2.0]))
call("numpy", "isin", I, A([3, 12], "int32"))
call("numpy", "isin", I, A([3, 12], "int32"), invert=True)
call("numpy", "reshape", X, [3, -1])
call("numpy", "ravel", X)
call("numpy", "transpose", X)
call("numpy", "moveaxis", A([[[1.0, 2.0]], [[3.0, 4.0]]]), 0, 2)
call("numpy", "swapaxes", X, 0, 1)
call("numpy", "matrixTranspose", X)
call("numpy", "expandDims", X, [0, 2])
call("numpy", "squeeze", A([[[1.0], [2.0]]]), 2)
call("numpy", "broadcastTo", P, [2, 3])
for name in ["flip", "flipud", "fliplr"]:
    call("numpy", name, X)
call("numpy", "flip", X, 0)
call("numpy", "rot90", X)
call("numpy", "rot90", X, 3)
call("numpy", "roll", X, 1)
call("numpy", "roll", X, 1, 1)
call("numpy", "roll", X, [1, 2], [0, 1])
call("numpy", "repeat", X, 2)
call("numpy", "repeat", X, 2, 1)
call("numpy", "tile", X, [2, 1, 2])
call("numpy", "pad", X, [[1, 0], [0, 2]])
call("numpy", "pad", X, 1)
call("numpy", "split", V, 2)
call("numpy", "split", V, [1, 3])
call("numpy", "arraySplit", V, 3)
call("numpy", "vsplit", X, 2)
call("numpy", "hsplit", X, 3)
for name in ["vstack", "hstack", "dstack", "columnStack", "stack", "concatenate"]:
    call("numpy", name, [X, Y])
for name in ["vstack", "hstack", "dstack", "columnStack"]:
    call("numpy", name, [V, W])
call("numpy", "concatenate", [X, Y], 1)
call("numpy", "stack", [X, Y], -1)
call("numpy", "unstack", X, 1)
call("numpy", "append", X, Y)
call("numpy", "append", X, Y, 1)
call("numpy", "diagonal", M, 1)
call("numpy", "diag", M, -1)
call("numpy", "diag", P, 1)
call("numpy", "diagflat", X, -1)
call("numpy", "trace", M, 1)
call("numpy", "tril", M, -1)
call("numpy", "triu", M, 1)
call("numpy", "take", X, A([0, 2, 1], "int32"))
call("numpy", "take", X, A([[0, 2]], "int32"), 1)
call("numpy", "takeAlongAxis", X, A([[0], [2]], "int32"), 1)
call("numpy", "vander", V)
call("numpy", "vander", V, n=2, increasing=True)
call("numpy", "matmul", X, A([[1.0], [2.0], [3.0]]))
call("numpy", "matmul", I, A([1, 2, 3], "int32"))
call("numpy", "matvec", X, P)
call("numpy", "vecmat", P, M)
for name in ["dot", "inner", "outer", "vdot", "vecdot"]:
    call("numpy", name, V, W)
call("numpy", "dot", X, M)
call("numpy", "inner", X, Y)
call("numpy", "tensordot", X, Y)
call("numpy", "tensordot", X, M, 1)
call("numpy", "tensordot", X, Y, [[0], [0]])
call("numpy", "einsum", "ij,kj->ki", X, Y)
call("numpy", "einsum", "ij,j", X, P)
call("numpy", "einsum", "ba", X)
call("numpy", "cross", P, A([1.0, -2.0, 3.0]))
call("numpy", "cross", X, Y)
call("numpy", "cross", A([1.0, 2.0]), A([3.0, -4.0]))
for mode in ["full", "same", "valid"]:
    call("numpy", "convolve", V, P, mode)
    call("numpy", "correlate", V, P, mode)
call("numpy", "polyval", V, P)
call("numpy", "polyadd", V, P)
call("numpy", "polysub", V, P)
call("numpy", "polymul", V, P)
call("numpy", "polyder", V)
call("numpy", "polyder", V, 2)
call("numpy", "arange", 2, 9, 3)
call("numpy", "linspace", 1, 3, 5)
call("numpy", "linspace", 1, 3, 4, False)
call("numpy", "logspace", 0, 2, 3)
call("numpy", "geomspace", 1, 1000, 4)
call("numpy", "eye", 2, 3)
call("numpy", "identity", 3)
call("numpy", "tri", 3, 4, 1)
call("numpy", "indices", [2, 3])
call("numpy", "full", [2], 1.5)
for name in ["bartlett", "blackman", "hann"]:
    call("numpy", name, 6)
for name in ["zerosLike", "onesLike"]:
    call("numpy", name, I)
call("numpy", "fullLike", X, 3)
call("numpy", "quantile", X, 0.3)
call("numpy", "median", X, 1)
call("numpy", "arrayEqual", X, X)
call("numpy", "arrayEquiv", P, A([[0.2, 0.5, 0.9]]))
for name in ["det", "inv", "eigvalsh", "cholesky", "svdvals"]:
    call("numpy.linalg", name, S)
call("numpy.linalg", "slogdet", M)
call("numpy.linalg", "solve", M, P)
call("numpy.linalg", "solve", M, S)
call("numpy.linalg", "matrixPower", M, 3)
call("numpy.linalg", "matrixPower", M, -2)
call("numpy.linalg", "multiDot", [X, M, A([[1.0], [2.0], [3.0]])])
call("numpy.linalg", "norm", X)
call("numpy.linalg", "norm", V, ord=3)
call("numpy.linalg", "norm", X, ord=1)
call("numpy.linalg", "norm", X, ord="nuc")
call("numpy.linalg", "norm", X, axis=1)
call("numpy.linalg", "norm", X, axis=1, ord=float("inf"), keepdims=True)
call("numpy.linalg", "matrixNorm", M)
call("numpy.linalg", "matrixNorm", M, ord=2, keepdims=True)
call("numpy.linalg", "vectorNorm", X)
call("numpy.linalg", "vectorNorm", X, axis=0, ord=1)
call("numpy.linalg", "trace", M)
call("numpy.linalg", "diagonal", M)
call("numpy.linalg", "cross", P, A([1.0, -2.0, 3.0]))
call("numpy.linalg", "outer", P, V)
call("numpy.linalg", "vecdot", X, Y)
call("numpy.linalg", "tensordot", X, Y)
call("numpy.linalg", "matrixTranspose", X)
for name in [
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "sparsePlus",
    "sparseSigmoid",
    "silu",
    "logSigmoid",
    "leakyRelu",
    "hardSigmoid",
    "hardSilu",
    "hardTanh",
    "elu",
    "celu",
    "selu",
    "gelu",
    "squareplus",
    "mish",
    "softmax",
    "logSoftmax",
    "logsumexp",
    "standardize",
]:
    call("nn", name, X)
call("nn", "gelu", X, approximate=False)
call("nn", "glu", A([[1.0, -2.0, 0.5, 4.0]]))
call("nn", "leakyRelu", X, 0.2)
call("nn", "elu", X, 0.5)
call("nn", "celu", X, 0.5)
call("nn", "softmax", X, 0)
call("nn", "logSoftmax", X, [0, 1])
call("nn", "logsumexp", X, 1, keepdims=True)
call("nn", "log1mexp", A([0.1, 0.5, 2.0, 30.0]))
call("nn", "oneHot", A([1, 0, 2], "int32"), 4)
for name in ["erf", "erfc", "expit", "digamma", "gammaln", "i0", "i1e", "ndtr"]:
    call("scipySpecial", name, P)
call("scipySpecial", "logit", P)
call("scipySpecial", "xlogy", P, 2.0)
call("lax", "topK", V, 2)
IMAGE = A([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 1.0, 2.0, 3.0]]]])
KERNEL = A([[[[1.0, -1.0], [0.5, 2.0]]], [[[0.0, 1.0], [1.0, 0.0]]]])
call("lax", "conv", IMAGE, KERNEL, [1, 1], "VALID")
call("lax", "conv", IMAGE, KERNEL, [2, 1], "SAME")
call("lax", "convWithGeneralPadding", IMAGE, KERNEL, [1, 1], [[1, 0], [0, 2]], [2, 1], [1, 2])
call("lax", "convGeneralDilated", IMAGE, KERNEL, [1, 2], [[1, 1], [0, 1]])
call("lax.linalg", "cholesky", S)

out = []
for space, name, args, options in CALLS:
    if name == "reshape":
        found = jnp.reshape(args[0].value, tuple(args[1]))
    elif name == "take":
        found = jnp.take(args[0].value, args[1].value, args[2] if len(args) > 2 else None)
    elif name == "conv" or name.startswith("convWith"):
        found = getattr(jax.lax, snake(name))(
            *(to_python(list(a)) if isinstance(a, list) else to_python(a) for a in args)
        )
    elif name == "oneHot":
        found = jax.nn.one_hot(args[0].value, args[1])
    elif name == "softmax" or name == "logSoftmax":
        axis = args[1] if len(args) > 1 else -1
        found = getattr(jax.nn, snake(name))(
            args[0].value, tuple(axis) if isinstance(axis, list) else axis
        )
    elif name in ("expandDims", "roll", "tile", "full", "indices", "broadcastTo"):
        found = getattr(jnp, snake(name))(
            *(tuple(a) if isinstance(a, list) else to_python(a) for a in args)
        )
    elif name == "cov" and len(args) > 1:
        found = jnp.cov(args[0].value, args[1].value)
    else:
        given = {RENAMED.get(name, {}).get(k, snake(k)): to_python(v) for k, v in options.items()}
        if name == "standardize":
            found = jax.nn.standardize(args[0].value)
        elif space == "nn" and name == "logsumexp":
            found = jax.nn.logsumexp(to_python(args[0]), *args[1:], **given)
        elif name == "correlate" or name == "convolve":
            found = getattr(jnp, name)(args[0].value, args[1].value, args[2])
        elif space == "numpy" and name == "average":
            found = jnp.average(args[0].value, *args[1:], **given)
        elif name == "unstack":
            found = jnp.unstack(args[0].value, axis=args[1])
        else:
            found = getattr(SPACES[space], snake(name))(*(to_python(a) for a in args), **given)
    out.append(
        {
            "space": space,
            "name": name,
            "args": to_json(list(args)),
            "options": to_json(options),
            "found": numbers(found),
        }
    )
print("[" + ",\n".join(json.dumps(c) for c in out) + "]")
