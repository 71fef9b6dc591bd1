"""The tasks that are compared with other frameworks, with their goals and gates.

Goal and gate are ratios of our time to that of one peer in the same run, against which they were
set; smaller is better. They hold for two threads, unless a promise for one thread is given too.
Beside that all work but what is optional is to be as fast as the best of all peers, up to PARITY.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Optional

import numpy as np
import programs as p
from contestants import BEAM, OURS, SPLIT

Array = np.ndarray[Any, Any]
Input = Callable[[np.random.Generator], Array]

BLOCK = 999_983  # larger inputs tile a random block: drawing 124 million numbers takes seconds
PARITY = 1.05
TRAINING_RATE = 1e-4


class Promise(NamedTuple):
    """Goal and gate, as ratios to the time of a peer."""

    goal: float
    gate: Optional[float]  # noqa: UP045 the workers' Python may be older
    peer: str = "numpy"


def aligned(values: Array) -> Array:
    """Return a copy aligned to a cache line, as most frameworks align their memory."""
    line = 64
    room = np.empty(values.nbytes + line, np.uint8)
    skip = -room.ctypes.data % line
    copy = room[skip : skip + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def normal(*shape: int, scale: float = 1.0) -> Input:
    """Return an input of normal numbers."""

    def make(rng: np.random.Generator) -> Array:
        count = int(np.prod(shape))
        block = rng.standard_normal(min(count, BLOCK), np.float32) * np.float32(scale)
        return aligned(np.resize(block, shape))

    return make


def integers(high: int, *shape: int) -> Input:
    """Return an input of integers below high."""
    return lambda rng: aligned(rng.integers(0, high, shape, np.int32))


def bfloat16(*shape: int) -> Input:
    """Return an input of normal numbers in bfloat16, stored as bits: numpy lacks the type."""
    return lambda rng: aligned((normal(*shape)(rng).view(np.uint32) >> 16).astype(np.uint16))


def float16(*shape: int) -> Input:
    """Return an input of normal numbers in float16."""
    return lambda rng: aligned(normal(*shape)(rng).astype(np.float16))


def int8(*shape: int) -> Input:
    """Return an input of integers of eight bits."""
    return lambda rng: aligned(rng.integers(-128, 128, shape, np.int8))


def weights(shapes: Sequence[tuple[int, ...]]) -> list[Input]:
    """Return random inputs for the parameters of a model, also where 1 or 0 are usual."""
    return [normal(*shape, scale=0.05) for shape in shapes]


@dataclass(frozen=True)
class Task:
    """One row of the table.

    program   the function of the inputs; for training the loss, see programs
    flops     useful floating point operations
    moved     minimum bytes that are read and written
    two, one  the promises for two threads and for one
    skip      peers that are left out, and why
    numbers   the type of the factors, which selects the peak of the arithmetic
    subject   the configuration of polygrad that is measured
    optional  whether parity with the best peer is not required
    """

    name: str
    group: str
    program: p.Program
    inputs: Sequence[Input]
    flops: float = 0.0
    moved: float = 0.0
    two: Promise | None = None
    one: Promise | None = None
    parameters: Sequence[Input] = ()
    skip: dict[str, str] = field(default_factory=dict)
    numbers: str = "float32"
    subject: str = OURS
    optional: bool = False

    @property
    def slow(self) -> bool:
        """Whether preparing or running it takes long."""
        return self.flops > 6e9 or self.moved > 2e8

    def arrays(self) -> tuple[list[Array], list[Array]]:
        """Return the parameters and the inputs, the same in every process."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [make(rng) for make in self.parameters], [make(rng) for make in self.inputs]

    def searched(self) -> Task:
        """Return the task with tinygrad's search, even where that is skipped by default."""
        skip = {name: why for name, why in self.skip.items() if why != UNSEARCHED}
        return replace(self, skip=skip)

    @property
    def precision(self) -> str:
        """The type whose tolerance the results must meet."""
        return "float32" if self.subject == SPLIT else self.numbers

    def promise(self, threads: int) -> Promise | None:
        """Return the promise for a number of threads."""
        return self.two if threads == 2 else self.one


def _elementwise(
    name: str, program: p.Program, n: int, two: Promise | None, inputs: int = 1, **options: Any
) -> Task:
    arrays = [normal(n) for _ in range(inputs)]
    moved = 4.0 * n * (inputs + 1)
    return Task(name, "elementwise", program, arrays, moved=moved, two=two, **options)


def _product(
    name: str,
    program: p.Program,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    flops: float,
    two: Promise | None = None,
    one: Promise | None = None,
    **options: Any,
) -> Task:
    moved = 4.0 * p.count(shapes)
    arrays = [normal(*shape) for shape in shapes]
    return Task(name, "matmul", program, arrays, flops, moved, two, one, **options)


SLOW_CALL = "seconds a call"


def _square(n: int, two: Promise | None = None) -> Task:
    skip = {"tinygrad": SLOW_CALL} if n > 1024 else {}
    shapes = ((n, n), (n, n))
    one = two and Promise(1.0, 1.05)
    return _product(f"matmul {n}", p.product, shapes, 2.0 * n**3, two, one, skip=skip)


def _split(n: int, two: Promise) -> Task:
    # bf16x3 computes a float32 product by six bfloat16 products.
    arrays = [normal(n, n), normal(n, n)]
    name, flops = f"matmul {n}, POLY_F32=bf16x3", 6 * 2.0 * n**3
    way: dict[str, Any] = {"numbers": "bfloat16", "subject": SPLIT, "optional": True}
    skip = {"tinygrad": SLOW_CALL}
    return Task(name, "matmul", p.product, arrays, flops, 12.0 * n**2, two, skip=skip, **way)


def _narrow(
    name: str, make: Callable[..., Input], moved: float, skip: dict[str, str], **options: Any
) -> Task:
    program, arrays = options.pop("program", p.product), [make(1024, 1024), make(1024, 1024)]
    flops, size = 2.0 * 1024**3, moved * 1024**2
    return Task(f"matmul {name} 1024", "matmul", program, arrays, flops, size, skip=skip, **options)


def _conv(
    name: str,
    channels: int,
    out: int,
    image: int,
    size: int,
    stride: int,
    two: Promise | None = None,
) -> list[Task]:
    padding = size // 2
    result = (image + 2 * padding - size) // stride + 1
    x, w = (1, channels, image, image), (out, channels, size, size)
    y = (1, out, result, result)
    flops = 2.0 * out * channels * size * size * result * result
    moved = 4.0 * p.count([x, w, y])
    title = f"conv2d {name}"
    inputs = [normal(*x), normal(*w, scale=0.05)]
    forward = p.convolution(stride, padding)
    backward = p.convolution_backward(stride, padding)
    return [
        Task(title, "conv", forward, inputs, flops, moved, two),
        Task(
            f"{title} backward",
            "conv",
            backward,
            [*inputs, normal(*y)],
            2 * flops,
            2 * moved,
        ),
    ]


def _trained(forward: float, first: float) -> float:
    """Return the operations of a training step; first: those of forward in layers on the data."""
    # Forward, gradients of weights, and gradients of the inputs, which layers on the data lack.
    return 3 * forward - first


def _mlp() -> list[Task]:
    sizes, small_sizes = (784, 512, 256, 10), (64, 64, 1)
    shapes, small = p.dense_shapes(*sizes), p.dense_shapes(*small_sizes)
    flops, small_flops = p.dense_flops(128, *sizes), p.dense_flops(4, *small_sizes)
    x, y = normal(128, 784), integers(10, 128)
    return [
        Task(
            "MLP 784-512-256-10 b128 forward",
            "models",
            p.mlp,
            [x, *weights(shapes)],
            flops,
            two=Promise(0.62, 0.85),
        ),
        Task(
            "MLP 784-512-256-10 b128 training step",
            "models",
            p.mlp_loss,
            [x, y],
            _trained(flops, p.dense_flops(128, *sizes[:2])),
            two=Promise(0.37, 0.60),
            parameters=weights(shapes),
        ),
        Task(
            "MLP 64-64-1 b4 training step",
            "models",
            p.regression_loss,
            [normal(4, 64), normal(4, 1)],
            _trained(small_flops, p.dense_flops(4, *small_sizes[:2])),
            two=Promise(0.20, 0.50),
            parameters=weights(small),
        ),
    ]


def _gpt(
    name: str,
    sizes: tuple[int, int, int, int],
    heads: int,
    tied: bool,
    promises: tuple[Promise | None, Promise | None],
    skip: tuple[dict[str, str], dict[str, str]],
) -> list[Task]:
    vocabulary, length = sizes[:2]
    shapes = p.transformer_shapes(*sizes, tied)
    flops = p.transformer_flops(*sizes)
    moved = 4.0 * p.count(shapes)
    x, y = integers(vocabulary, 1, length), integers(vocabulary, length)
    forward = p.transformer_forward(heads, tied)
    loss = p.transformer_loss(heads, tied)
    return [
        Task(
            f"{name} forward",
            "models",
            forward,
            [x, *weights(shapes)],
            flops,
            moved,
            promises[0],
            skip=skip[0],
        ),
        Task(
            f"{name} training step",
            "models",
            loss,
            [x, y],
            3 * flops,
            3 * moved,
            promises[1],
            parameters=weights(shapes),
            skip=skip[1],
        ),
    ]


def _training(
    name: str,
    loss: p.Program,
    inputs: list[Input],
    shapes: list[tuple[int, ...]],
    flops: float,
    first: float,
    **skip: str,
) -> Task:
    count = _trained(flops, first)
    return Task(name, "models", loss, inputs, count, parameters=weights(shapes), skip=skip)


def _attention(heads: int, length: int, size: int, **options: Any) -> Task:
    inputs = [normal(1, heads, length, size) for _ in range(3)]
    flops = 4.0 * heads * length * length * size / 2  # only the unmasked half of the scores counts
    moved = 16.0 * heads * length * size
    name = f"attention {heads}x{length}x{size} causal"
    return Task(name, "rows", p.of("attention"), inputs, flops, moved, **options)


MILLION = 1_000_000
M10 = 10 * MILLION
BIG = 4096
NO_NARROW = {"numpy": "no product of this type", "tinygrad": SLOW_CALL}
SLOW = {"numpy": SLOW_CALL, "tinygrad": SLOW_CALL}
NO_NUMPY = {"numpy": "no gradients"}
LARGE = {"tinygrad": "minutes to compile", BEAM: "searched only for smaller models"}
UNSEARCHED = "searched only for goals against it and training steps of models"

TASKS: list[Task] = [
    _elementwise("vector add 1e3", p.add, 1000, None, 2, optional=True),
    _elementwise("vector add 1e6", p.add, MILLION, Promise(0.52, 0.65), 2),
    _elementwise("vector add 1e7", p.add, M10, Promise(0.71, 0.85, "tinygrad"), 2),
    _elementwise("elementwise chain 5", p.chain(1), M10, Promise(0.77, 0.90, "tinygrad")),
    _elementwise("elementwise chain 10", p.chain(2), M10, Promise(0.79, 0.90, BEAM)),
    _elementwise("elementwise chain 20", p.chain(4), M10, Promise(0.50, 0.65, "tinygrad")),
    _elementwise("exp 1e6", p.of("exp"), MILLION, Promise(0.28, 0.45)),
    _elementwise("sin 1e6", p.of("sin"), MILLION, Promise(0.34, 0.50)),
    _elementwise("tanh 1e6", p.of("tanh"), MILLION, Promise(0.45, 0.60)),
    _elementwise("gelu 1e6", p.of("gelu"), MILLION, Promise(0.07, 0.12, "tinygrad")),
    Task(
        "sum all 1e7",
        "reduce",
        p.total(None),
        [normal(M10)],
        M10,
        4.0 * M10,
        Promise(0.44, 0.60, BEAM),
    ),
    *(
        Task(
            f"sum axis {axis}, 4096^2",
            "reduce",
            p.total(axis),
            [normal(BIG, BIG)],
            BIG * BIG,
            4.0 * BIG * BIG,
            limit,
        )
        for axis, limit in ((0, Promise(0.48, 0.60)), (1, Promise(0.70, 0.80, "tinygrad")))
    ),
    *(
        Task(
            f"{name} 4096x1024",
            "rows",
            p.of(name),
            [normal(BIG, 1024)],
            moved=8.0 * BIG * 1024,
            two=limit,
        )
        for name, limit in (
            ("softmax", Promise(0.06, 0.12, BEAM)),
            ("layernorm", Promise(0.30, 0.45, BEAM)),
        )
    ),
    Task(
        "cross entropy 512x50257",
        "rows",
        p.of("cross_entropy"),
        [normal(512, 50257), integers(50257, 512)],
        moved=4.0 * 512 * 50257,
    ),
    Task(
        "cross entropy 512x50257 training step",
        "rows",
        p.cross_entropy_loss,
        [integers(50257, 512)],
        moved=2 * 4.0 * 512 * 50257,  # read and written once: a row stays in the cache in between
        parameters=[normal(512, 50257)],
        skip=dict(NO_NUMPY),
    ),
    _attention(12, 1024, 64),
    _attention(4, 4096, 64, skip={"numpy": "scores do not fit", "tinygrad": "minutes a call"}),
    _square(64, Promise(0.79, 0.95)),
    _square(127),
    _square(256, Promise(0.78, 0.95)),
    _square(512, Promise(0.80, 0.95)),
    _square(1023),
    _square(1024, Promise(0.95, 1.05)),
    _square(2048, Promise(0.95, 1.05)),
    *(
        _product(
            f"{name} 1024",
            program,
            ((1024, 1024), (1024, 1024)),
            2.0 * 1024**3,
        )
        for name, program in (("matmul A·Bᵀ", p.product_nt), ("matmul Aᵀ·B", p.product_tn))
    ),
    _narrow("bf16", bfloat16, 6.0, NO_NARROW, numbers="bfloat16"),
    _narrow("f16", float16, 6.0, NO_NARROW, numbers="float16"),
    _narrow("int8", int8, 6.0, SLOW, program=p.product_int, numbers="int8"),
    _split(1024, Promise(0.63, None)),
    _split(2048, Promise(0.66, None)),
    _product("matvec 4096", p.product, ((BIG, BIG), (BIG,)), 2.0 * BIG * BIG, Promise(1.00, 1.05)),
    _product(
        "batched matmul 32x128x64x128",
        p.product,
        ((32, 128, 64), (32, 64, 128)),
        2.0 * 32 * 128 * 64 * 128,
        Promise(0.41, 0.70),
    ),
    Task(
        "transposed copy 4096^2",
        "elementwise",
        p.transposed_copy,
        [normal(BIG, BIG)],
        moved=8.0 * BIG * BIG,
        two=Promise(0.33, 0.55, BEAM),
    ),
    *_conv("1x64x56x56, 3x3, 64", 64, 64, 56, 3, 1, Promise(0.48, 0.80)),
    *_conv("1x64x56x56, 1x1, 256", 64, 256, 56, 1, 1),
    *_conv("1x256x14x14, 3x3, 256", 256, 256, 14, 3, 1),
    *_conv("1x512x28x28, 1x1, 1024, stride 2", 512, 1024, 28, 1, 2),
    *_conv("1x3x224x224, 7x7, 64, stride 2", 3, 64, 224, 7, 2),
    *_mlp(),
    _training(
        "CNN 28x28, 32-64 channels, b32 training step",
        p.cnn_loss,
        [normal(32, 1, 28, 28), integers(10, 32)],
        [(32, 1, 3, 3), (64, 32, 3, 3), (10, 64 * 14 * 14), (10,)],
        2.0 * 32 * (28 * 28 * (32 * 9 + 64 * 32 * 9) + 640 * 14 * 14),
        2.0 * 32 * 28 * 28 * 32 * 9,
    ),
    _training(
        "LSTM 128, 16 steps, b32 training step",
        p.lstm_loss,
        [normal(16, 32, 128), integers(10, 32)],
        [(512, 128), (512, 128), (512,), (10, 128), (10,)],
        # The first step needs no recurrent product: its state is 0.
        2.0 * 32 * (16 + 15) * 512 * 128,
        2.0 * 32 * 16 * 512 * 128,
        **{name: "more than two minutes to compile" for name in ("tinygrad", BEAM)},
    ),
    *_gpt(
        "GPT 2x256 T128",
        (512, 128, 256, 2),
        4,
        False,
        (Promise(0.34, 0.60), Promise(0.35, 0.60)),
        ({}, dict(NO_NUMPY)),
    ),
    *_gpt(
        "GPT-2 124M T128",
        (50257, 128, 768, 12),
        12,
        True,
        (None, None),
        ({"tinygrad": LARGE["tinygrad"]}, {**LARGE, **NO_NUMPY}),
    ),
]
for _task in TASKS:
    if _task.group in ("models", "conv") and _task.parameters and not _task.name.startswith("MLP"):
        _task.skip.setdefault("numpy", NO_NUMPY["numpy"])
    if _task.name.endswith("backward"):
        _task.skip.setdefault("numpy", NO_NUMPY["numpy"])
    _promised = _task.two is not None and _task.two.peer == BEAM
    if not _promised and (_task.group != "models" or not _task.parameters):
        _task.skip.setdefault(BEAM, UNSEARCHED)

BY_NAME = {task.name: task for task in TASKS}
