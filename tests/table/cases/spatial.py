"""Convolution, pooling, interpolation: written down as loops over windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cases.builder import Draw, Tensor, case

Sizes = Sequence[int]
NEAR = {"rtol": 4e-6, "atol": 4e-6}


def add() -> None:
    """Add the cases of this group."""
    _conv()
    _conv_transpose()
    _pools()
    _interpolate()
    _columns()
    _pixels()


def _list(value: Any, n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value)


def _padding(value: Any, n: int) -> list[tuple[int, int]]:
    """Return (before, after) of each axis; 2 n numbers begin with the last axis, as in torch."""
    if isinstance(value, int):
        return [(value, value)] * n
    if len(value) == n:
        return [(v, v) for v in value]
    return [(value[2 * i], value[2 * i + 1]) for i in range(n)][::-1]


class Windows:
    """Where the windows of a convolution or a pool lie."""

    def __init__(self, sizes: Sizes, kernel: Sizes, args: dict[str, Any], pool: bool) -> None:
        """Read stride, dilation, padding and ceil_mode of the arguments."""
        n = len(kernel)
        self.kernel = list(kernel)
        self.stride = _list(args.get("stride", kernel if pool else 1), n)
        self.dilation = _list(args.get("dilation", 1), n)
        self.padding = _padding(args.get("padding", 0), n)
        self.out = []
        for i in range(n):
            room = sizes[i] + sum(self.padding[i]) - self.dilation[i] * (kernel[i] - 1) - 1
            if args.get("ceil_mode"):
                count = -(-room // self.stride[i]) + 1
                if (count - 1) * self.stride[i] >= sizes[i] + self.padding[i][0]:
                    count -= 1
            else:
                count = room // self.stride[i] + 1
            self.out.append(count)
        self.sizes = list(sizes)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        """Return (window, element of the kernel, place in x), which may lie in the padding."""
        for o in np.ndindex(*self.out):
            for k in np.ndindex(*self.kernel):
                at = tuple(
                    o[i] * self.stride[i] + k[i] * self.dilation[i] - self.padding[i][0]
                    for i in range(len(o))
                )
                yield o, k, at

    def inside(self, at: tuple[int, ...]) -> bool:
        """Tell whether a place is one of x."""
        return all(0 <= a < s for a, s in zip(at, self.sizes))


def _conv_of(x: Any, w: Any, bias: Any, args: dict[str, Any]) -> Any:
    groups = args.get("groups", 1)
    windows = Windows(x.shape[2:], w.shape[2:], args, pool=False)
    out = np.zeros([x.shape[0], w.shape[0], *windows.out])
    each, inner = w.shape[0] // groups, w.shape[1]
    for o, k, at in windows:
        if windows.inside(at):
            for g in range(groups):
                part = x[(slice(None), slice(g * inner, (g + 1) * inner), *at)]
                taps = w[(slice(g * each, (g + 1) * each), slice(None), *k)]
                out[(slice(None), slice(g * each, (g + 1) * each), *o)] += part @ taps.T
    return out if bias is None else out + bias.reshape(-1, *[1] * len(windows.out))


def _conv_transpose_of(x: Any, w: Any, bias: Any, args: dict[str, Any]) -> Any:
    n = x.ndim - 2
    groups, extra = args.get("groups", 1), _list(args.get("output_padding", 0), n)
    stride, dilation = _list(args.get("stride", 1), n), _list(args.get("dilation", 1), n)
    padding = _padding(args.get("padding", 0), n)
    sizes = [
        (x.shape[2 + i] - 1) * stride[i]
        - sum(padding[i])
        + dilation[i] * (w.shape[2 + i] - 1)
        + extra[i]
        + 1
        for i in range(n)
    ]
    each, inner = w.shape[1], w.shape[0] // groups
    out = np.zeros([x.shape[0], each * groups, *sizes])
    for i in np.ndindex(*x.shape[2:]):
        for k in np.ndindex(*w.shape[2:]):
            at = tuple(i[d] * stride[d] + k[d] * dilation[d] - padding[d][0] for d in range(n))
            if all(0 <= a < s for a, s in zip(at, sizes)):
                for g in range(groups):
                    part = x[(slice(None), slice(g * inner, (g + 1) * inner), *i)]
                    taps = w[(slice(g * inner, (g + 1) * inner), slice(None), *k)]
                    out[(slice(None), slice(g * each, (g + 1) * each), *at)] += part @ taps
    return out if bias is None else out + bias.reshape(-1, *[1] * n)


def _convolution(
    op: str,
    fn: Callable[..., Any],
    shape: list[int],
    kernel: list[int],
    what: str,
    bias: bool = False,
    view: Any = None,
    grad: bool = False,
    **args: Any,
) -> None:
    draw = Draw(f"{op} {what}")
    x, w = Tensor(draw.reals(shape), view=view or []), Tensor(draw.reals(kernel))
    given = {**args, **({"bias": {"input": 2}} if bias else {})}
    outs = kernel[0] if op == "conv2d" else kernel[1] * args.get("groups", 1)
    b = [Tensor(draw.reals([outs]))] if bias else []
    case(
        f"{op} {what}",
        op,
        [x, w, *b],
        lambda v, k, c=None: fn(v, k, c, args),
        given,
        grad=grad,
        **NEAR,
    )


def _conv() -> None:
    def one(shape: list[int], kernel: list[int], what: str, **options: Any) -> None:
        _convolution("conv2d", _conv_of, shape, kernel, what, **options)

    one([1, 1, 3, 3], [1, 1, 2, 2], "plain", grad=True)
    one([2, 3, 4, 5], [4, 3, 3, 3], "of channels", bias=True)
    one([1, 2, 3, 3], [2, 2, 2, 2], "with bias", bias=True, grad=True)
    one([1, 2, 3, 4], [3, 2, 1, 1], "of one element")
    one([1, 1, 5, 6], [1, 1, 3, 3], "stride 2", stride=2)
    one([1, 1, 5, 6], [1, 1, 3, 2], "stride 2 and 1", stride=[2, 1], grad=True)
    one([1, 1, 5, 6], [1, 1, 2, 2], "dilation 2", dilation=2)
    one([1, 1, 3, 3], [2, 1, 3, 3], "padding 1", padding=1, grad=True)
    one([1, 1, 3, 3], [1, 1, 3, 2], "padding 1 and 0", padding=[1, 0])
    one([1, 1, 3, 3], [1, 1, 2, 2], "padding of each side", padding=[1, 0, 2, 1])
    one([1, 4, 3, 3], [4, 2, 2, 2], "two groups", groups=2, grad=True)
    one([2, 3, 4, 4], [3, 1, 3, 3], "depthwise", groups=3, padding=1)
    one([1, 1, 6, 6], [1, 1, 3, 3], "stride, dilation and padding", stride=2, dilation=2, padding=2)
    one([2, 2, 5], [3, 2, 3], "of one axis", padding=1, grad=True)
    one([1, 1, 3, 3, 3], [1, 1, 2, 2, 2], "of three axes")
    one(
        [1, 1, 4, 3],
        [1, 1, 2, 2],
        "of a view",
        view=[["permute", [0, 1, 3, 2]], ["flip", [2]]],
        grad=True,
    )
    one([0, 1, 3, 3], [2, 1, 2, 2], "of nothing")


def _conv_transpose() -> None:
    def one(shape: list[int], kernel: list[int], what: str, **options: Any) -> None:
        _convolution("conv_transpose2d", _conv_transpose_of, shape, kernel, what, **options)

    one([1, 1, 2, 3], [1, 1, 2, 2], "plain", grad=True)
    one([2, 3, 3, 2], [3, 2, 2, 2], "of channels", bias=True)
    one([1, 1, 2, 3], [1, 1, 3, 3], "stride 2", stride=2, grad=True)
    one([1, 1, 3, 3], [1, 1, 3, 3], "padding 1", padding=1)
    one([1, 1, 2, 3], [1, 1, 2, 2], "dilation 2", dilation=2)
    one([1, 1, 2, 2], [1, 1, 3, 3], "output padding", stride=2, padding=1, output_padding=1)
    one([1, 4, 2, 2], [4, 1, 2, 2], "two groups", groups=2, grad=True)
    one([1, 2, 4], [2, 1, 3], "of one axis", stride=2)


def _pool_of(x: Any, kernel: Sizes, args: dict[str, Any], mean: bool) -> tuple[Any, Any]:
    n = len(kernel)
    windows = Windows(x.shape[x.ndim - n :], kernel, args, pool=True)
    lead = x.shape[: x.ndim - n]
    out = np.full([*lead, *windows.out], 0.0 if mean else -np.inf)
    places = np.zeros(out.shape, np.int64)
    counts = np.zeros(windows.out)
    for o, _, at in windows:
        # Padding counts, but what ceil_mode adds behind it does not.
        reach = all(-p[0] <= a < s + p[1] for a, s, p in zip(at, windows.sizes, windows.padding))
        here = windows.inside(at)
        counts[o] += here or (reach and args.get("count_include_pad", True))
        if not here:
            continue
        value = x[(..., *at)]
        if mean:
            out[(..., *o)] += value
        else:
            better = value > out[(..., *o)]
            flat = int(np.ravel_multi_index(at, windows.sizes))
            places[(..., *o)] = np.where(better, flat, places[(..., *o)])
            out[(..., *o)] = np.where(better, value, out[(..., *o)])
    return (out / counts if mean else out), places


def _pools() -> None:
    ways: list[tuple[str, list[int], list[int], dict[str, Any]]] = [
        ("plain", [1, 2, 4, 4], [2, 2], {}),
        ("that cuts off", [1, 1, 5, 5], [2, 2], {}),
        ("of 3 by 2", [2, 1, 6, 4], [3, 2], {}),
        ("stride 1", [1, 1, 3, 4], [2, 2], {"stride": 1}),
        ("stride 2 and 1", [1, 1, 5, 4], [3, 2], {"stride": [2, 1]}),
        ("padding", [1, 1, 4, 4], [2, 2], {"padding": 1}),
        ("dilation", [1, 1, 5, 5], [2, 2], {"dilation": 2, "stride": 1}),
        ("ceil_mode", [1, 1, 5, 5], [2, 2], {"ceil_mode": True}),
        (
            "ceil_mode and padding",
            [1, 1, 5, 4],
            [3, 3],
            {"ceil_mode": True, "stride": 2, "padding": 1},
        ),
        ("of one axis", [1, 2, 6], [2], {}),
    ]
    for what, shape, kernel, args in ways:
        for op in ("avg_pool2d", "max_pool2d"):
            draw = Draw(f"{op} {what}")
            mean = op == "avg_pool2d"
            given = {"kernel_size": kernel, **args}
            fn = lambda v, k=kernel, a=args, m=mean: _pool_of(v, k, a, m)[0]
            smooth = what in ("plain", "padding", "stride 1", "of one axis")
            case(
                f"{op} {what}",
                op,
                [Tensor(draw.reals(shape, -5, 5))],
                fn,
                given,
                grad=smooth,
                **NEAR,
            )
            if mean and "padding" in args:
                less = {**args, "count_include_pad": False}
                fn = lambda v, k=kernel, a=less: _pool_of(v, k, a, True)[0]
                name = f"{op} {what} that does not count"
                x = Tensor(draw.reals(shape, -5, 5))
                case(name, op, [x], fn, {**given, "count_include_pad": False}, grad=True, **NEAR)
        x = Tensor(Draw(what).reals(shape, -9, 9))
        both = lambda v, k=kernel, a=args: _pool_of(v, k, a, False)
        given = {"kernel_size": kernel, **args, "return_indices": True}
        case(
            f"max_pool2d {what} with indices",
            "max_pool2d",
            [x],
            both,
            given,
            out=["float32", "int32"],
            index_out=[1],
        )
    view = Tensor(
        Draw("pool").reals([1, 1, 4, 6], -5, 5), view=[["permute", [0, 1, 3, 2]], ["flip", [3]]]
    )
    for op in ("avg_pool2d", "max_pool2d"):
        mean = op == "avg_pool2d"
        fn = lambda v, m=mean: _pool_of(v, [2, 2], {}, m)[0]
        case(f"{op} of a view", op, [view], fn, {"kernel_size": [2, 2]}, grad=True, **NEAR)
    whole = Tensor([[[[-3, -7], [-1, -9]]]], "int32")
    case(
        "max_pool2d int32 of negative numbers",
        "max_pool2d",
        [whole],
        lambda v: v.max(axis=(2, 3), keepdims=True),
        {"kernel_size": [2, 2]},
    )
    odd = Tensor([[[[1.0, np.nan, 3.0, 4.0], [2.0, 0.0, np.inf, -np.inf]]]])
    for op, of in (("avg_pool2d", np.mean), ("max_pool2d", np.max)):
        fn = lambda v, f=of: f(v.reshape(1, 1, 2, 2, 2), axis=(2, 4)).reshape(1, 1, 1, 2)
        case(f"{op} of NaN and infinities", op, [odd], fn, {"kernel_size": [2, 2]})
    low = Tensor([[[[-np.inf, -np.inf], [-np.inf, -np.inf]]]])
    case(
        "max_pool2d of -infinity",
        "max_pool2d",
        [low],
        lambda v: v[:, :, :1, :1],
        {"kernel_size": [2, 2]},
    )
    _unpool()


def _unpool() -> None:
    def one(name: str, size: list[int], **args: Any) -> None:
        values = Draw(name).reals([1, 2, 2, 2])
        places = np.array([[[[0, 3], [9, 15]], [[5, 2], [8, 11]]]])

        def fn(v: Any, at: Any) -> Any:
            out = np.zeros([1, 2, size[0] * size[1]])
            for c in range(2):
                np.add.at(out[0, c], at[0, c].ravel(), v[0, c].ravel())
            return out.reshape(1, 2, *size)

        x, at = Tensor(values), Tensor(places, "int32", index=True)
        given = {"indices": {"input": 1}, "kernel_size": [2, 2], **args}
        case(name, "max_unpool2d", [x, at], fn, given, rtol=0, atol=0, grad=[0])

    one("max_unpool2d", [4, 4])
    one("max_unpool2d with a size", [5, 5], output_size=[5, 5])


def _scale(x: Any, axis: int, size: int, mode: str, align: bool) -> Any:
    n = x.shape[axis]
    i = np.arange(size)
    if mode != "linear":
        at = (i + (0.5 if mode == "nearest-exact" else 0)) * n / size
        return np.take(x, np.floor(at).astype(int), axis)
    if align:
        at = i * ((n - 1) / (size - 1) if size > 1 else 0)
    else:
        at = np.clip((i + 0.5) * n / size - 0.5, 0, n - 1)
    low = np.floor(at).astype(int)
    high, part = np.minimum(low + 1, n - 1), at - low
    part = part.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    return np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part


def _interpolate() -> None:
    for mode, align in (
        ("linear", False),
        ("linear", True),
        ("nearest", False),
        ("nearest-exact", False),
        ("bicubic", False),
        ("bicubic", True),
        ("area", False),
    ):
        for shape, size in (([1, 2, 3], [7]), ([1, 1, 2, 3], [4, 6]), ([1, 1, 5, 4], [2, 3])):

            def fn(v: Any, s: list[int] = size, m: str = mode, a: bool = align) -> Any:
                for k, n in enumerate(s):
                    scale = _resized if m in ("bicubic", "area") else _scale
                    v = scale(v, v.ndim - len(s) + k, n, m, a)
                return v

            args: dict[str, Any] = {"size": size, "mode": mode}
            if align:
                args["align_corners"] = True
            name = f"interpolate {mode}{' aligned' if align else ''} from {shape} to {size}"
            case(
                name,
                "interpolate",
                [Tensor(Draw(name).reals(shape))],
                fn,
                args,
                grad=len(size) == 2,
                **NEAR,
            )


def _resized(x: Any, axis: int, size: int, mode: str, align: bool) -> Any:
    """Resize an axis by the matrix of weights of mode "bicubic" or "area"."""
    n, weights = x.shape[axis], np.zeros((size, x.shape[axis]))
    for i in range(size):
        if mode == "area":
            first, end = i * n // size, -(-(i + 1) * n // size)
            weights[i, first:end] = 1 / (end - first)
            continue
        ends = (n - 1) / (size - 1) if size > 1 else 0
        at = i * ends if align else (i + 0.5) * n / size - 0.5
        for k in range(-1, 3):
            place = int(np.floor(at)) + k
            d = abs(at - place)
            near, far = (1.25 * d - 2.25) * d * d + 1, -0.75 * (((d - 5) * d + 8) * d - 4)
            weights[i, min(max(place, 0), n - 1)] += near if d <= 1 else far
    return np.moveaxis(np.tensordot(x, weights, ([axis], [1])), -1, axis)


def _columns() -> None:
    for kernel, args in (
        ([2, 2], {}),
        ([3, 2], {"dilation": [2, 1], "padding": 1, "stride": 2}),
        ([2, 2], {"stride": 3}),
    ):

        def columns(x: Any, k: list[int] = kernel, a: dict[str, Any] = args) -> Any:
            windows = Windows(x.shape[2:], k, a, pool=False)
            out = np.zeros((*x.shape[:2], *k, *windows.out))
            for window, tap, at in windows:
                if windows.inside(at):
                    out[(slice(None), slice(None), *tap, *window)] = x[(..., *at)]
            return out.reshape(x.shape[0], -1, int(np.prod(windows.out)))

        # Its transpose, by what it makes of each unit of x.
        units = np.eye(2 * 2 * 6 * 5).reshape(-1, 2, 2, 6, 5)
        matrix = np.array([columns(unit).ravel() for unit in units])

        def back(y: Any, m: Any = matrix) -> Any:
            return (m * np.ravel(y)).sum(axis=1).reshape(2, 2, 6, 5)

        name = f"im2col {kernel} {args}"
        x = Draw(name).reals([2, 2, 6, 5])
        given = {"kernel_size": kernel, **args}
        case(name, "im2col", [Tensor(x)], columns, given, grad=True, rtol=0, atol=0)
        y = Draw(name).reals(list(columns(x).shape))
        sized = {"output_size": [6, 5], **given}
        case(f"col2im {kernel} {args}", "col2im", [Tensor(y)], back, sized, grad=True, **NEAR)


def _pixels() -> None:
    def shuffled(x: Any) -> Any:
        out = np.zeros((2, 2, 6, 8))
        for c, h, w in np.ndindex(2, 6, 8):
            out[:, c, h, w] = x[:, 4 * c + 2 * (h % 2) + w % 2, h // 2, w // 2]
        return out

    def unshuffled(x: Any) -> Any:
        out = np.zeros((2, 8, 3, 4))
        for c, h, w in np.ndindex(8, 3, 4):
            out[:, c, h, w] = x[:, c // 4, 2 * h + c % 4 // 2, 2 * w + c % 2]
        return out

    same: dict[str, Any] = {"grad": True, "rtol": 0, "atol": 0}
    x = Tensor(Draw("pixels").reals([2, 8, 3, 4]))
    case("pixel_shuffle", "pixel_shuffle", [x], shuffled, {"upscale_factor": 2}, **same)
    x = Tensor(Draw("pixels").reals([2, 2, 6, 8]))
    case("pixel_unshuffle", "pixel_unshuffle", [x], unshuffled, {"downscale_factor": 2}, **same)
