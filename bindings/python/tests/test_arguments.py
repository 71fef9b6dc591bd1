"""Arguments in all forms that programs have them: numpy's numbers, arrays without axes, sequences.

A case is a function of how integers, floats and sequences are given.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from polygrad import Device, Tensor, Variable, dtypes, hf, nn
from polygrad.instance import Instance
from polygrad.nn import state

X = Tensor(np.arange(24, dtype="float32").reshape(2, 3, 4) + 1)
INTS = Tensor(np.arange(24).reshape(2, 3, 4))
SQUARE = Tensor(np.eye(3, dtype="float32") * 2)
IMAGE = Tensor(np.arange(64, dtype="float32").reshape(1, 1, 8, 8))
KERNEL = Tensor(np.ones((1, 1, 3, 3), "float32"))


def changed(t, place, value):
    t[place] = value
    return t


def array(sequence):
    """Return an array; an array of float64 would make the result one, too."""
    made = np.array(sequence)
    return made.astype("float32") if made.dtype == "float64" else made


CASES = {
    "full": lambda i, f, s: Tensor.full(s((2, 3)), f(1.5), dtype="float32"),
    "full of a size": lambda i, f, s: Tensor.full(i(3), i(2), dtype="int32"),
    "zeros": lambda i, f, s: Tensor.zeros(i(2), i(3)),
    "ones": lambda i, f, s: Tensor.ones(s((2, 3))),
    "eye": lambda i, f, s: Tensor.eye(i(2), i(3)),
    "arange": lambda i, f, s: Tensor.arange(i(1), i(5), i(2)),
    "arange of floats": lambda i, f, s: Tensor.arange(f(0), f(1), f(0.25)),
    "linspace": lambda i, f, s: Tensor.linspace(f(0), f(1), i(5)),
    "rand": lambda i, f, s: Tensor.rand(i(2), i(3)).shape,
    "uniform": lambda i, f, s: Tensor.uniform(s((2,)), low=f(0), high=f(1)).shape,
    "randint": lambda i, f, s: Tensor.randint(i(2), low=i(0), high=i(4)).shape,
    "full_like": lambda i, f, s: X.full_like(f(2)),
    "one_hot": lambda i, f, s: INTS.one_hot(i(24)),
    "multinomial": lambda i, f, s: X[0, 0].multinomial(i(2)).shape,
    "add": lambda i, f, s: X + f(2),
    "radd": lambda i, f, s: f(2) + X,
    "rsub": lambda i, f, s: f(2) - X,
    "truediv": lambda i, f, s: f(2) / X,
    "floordiv": lambda i, f, s: INTS // i(2),
    "mod": lambda i, f, s: INTS % i(5),
    "less": lambda i, f, s: X.__lt__(f(5)),
    "reflected comparison": lambda i, f, s: f(5) >= X,
    "bits": lambda i, f, s: (INTS << i(1)) & i(6),
    "add a sequence": lambda i, f, s: X + s((1, 2, 3, 4)),
    "maximum": lambda i, f, s: X.maximum(f(3)),
    "clip": lambda i, f, s: X.clip(f(2), f(5)),
    "leaky_relu": lambda i, f, s: X.leaky_relu(f(0.5)),
    "lerp": lambda i, f, s: X.lerp(X * 2, f(0.5)),
    "isclose": lambda i, f, s: X.isclose(X, rtol=f(0.5), atol=f(0.5)),
    "reshape": lambda i, f, s: X.reshape(i(-1), i(6)),
    "reshape to a sequence": lambda i, f, s: X.reshape(s((4, 6))),
    "view": lambda i, f, s: X.view(s((24,))),
    "expand": lambda i, f, s: X[:1].expand(i(5), i(3), i(4)),
    "permute": lambda i, f, s: X.permute(s((2, 0, 1))),
    "flip": lambda i, f, s: X.flip(s((0, 1))),
    "transpose": lambda i, f, s: X.transpose(i(0), i(2)),
    "pad": lambda i, f, s: X.pad(s((1, 2)), value=f(3)),
    "pad pairs": lambda i, f, s: X.pad((None, s((1, 1)), None)),
    "shrink": lambda i, f, s: X.shrink((s((0, 1)), None, s((1, 3)))),
    "squeeze": lambda i, f, s: X[:1].squeeze(i(0)).unsqueeze(i(1)),
    "repeat": lambda i, f, s: X.repeat(s((2, 1, 1))),
    "repeat_interleave": lambda i, f, s: X.repeat_interleave(i(2), dim=i(1)),
    "roll": lambda i, f, s: X.roll(i(1), i(0)).roll(s((1, 2)), s((0, 1))),
    "split": lambda i, f, s: X.split(i(2), dim=i(2)),
    "split by a sequence": lambda i, f, s: X.split(s((1, 3)), dim=i(2)),
    "chunk": lambda i, f, s: X.chunk(i(2), dim=i(2)),
    "cat": lambda i, f, s: X.cat(X, dim=i(1)),
    "unflatten": lambda i, f, s: X.unflatten(i(2), s((2, 2))),
    "unfold": lambda i, f, s: X.unfold(i(2), i(2), i(1)),
    "tril": lambda i, f, s: SQUARE.tril(i(-1)),
    "sum": lambda i, f, s: X.sum(i(1)),
    "sum over a sequence": lambda i, f, s: X.sum(s((0, 2))),
    "max": lambda i, f, s: X.max(i(1)),
    "var": lambda i, f, s: X.var(i(1), correction=i(0)),
    "argmax": lambda i, f, s: X.argmax(i(1)),
    "softmax": lambda i, f, s: X.softmax(i(1)),
    "cumsum": lambda i, f, s: X.cumsum(i(1)),
    "topk": lambda i, f, s: X.topk(i(2), i(1)),
    "layernorm": lambda i, f, s: X.layernorm(i(-1), f(1.0)),
    "index": lambda i, f, s: X[i(1), :, i(-1)],
    "slice": lambda i, f, s: X[:, i(0) : i(2)],
    "setitem": lambda i, f, s: changed(Tensor([1.0, 2.0]), i(0), f(5)),
    "setitem of a sequence": lambda i, f, s: changed(
        Tensor([1.0, 2.0]), slice(None), s((5.0, 6.0))
    ),
    "gather": lambda i, f, s: X[0, 0].gather(i(0), s((1, 0))),
    "index_select": lambda i, f, s: X.index_select(i(1), s((0, 1))),
    "scatter": lambda i, f, s: X[0, 0].scatter(i(0), Tensor([1, 0]), f(9.0)),
    "scatter a sequence": lambda i, f, s: X[0, 0].scatter(i(0), s((1, 0)), s((9.0, 8.0))),
    "scatter_reduce": lambda i, f, s: X[0, 0].scatter_reduce(i(0), s((1, 1)), s((9.0, 8.0)), "sum"),
    "masked_fill": lambda i, f, s: X.masked_fill(X > 3, f(0)),
    "masked_select": lambda i, f, s: X[0, 0].masked_select(s((True, False, True, False))),
    "matmul": lambda i, f, s: X @ s((1.0, 2.0, 3.0, 4.0)),
    "reflected matmul": lambda i, f, s: np.ones((2, 2, 3), "float32") @ X,
    "conv2d": lambda i, f, s: IMAGE.conv2d(KERNEL, stride=i(2), padding=s((1, 1)), groups=i(1)),
    "conv_transpose2d": lambda i, f, s: IMAGE.conv_transpose2d(KERNEL, stride=i(2), padding=i(1)),
    "max_pool2d": lambda i, f, s: IMAGE.max_pool2d(kernel_size=s((2, 2)), stride=i(2)),
    "avg_pool2d": lambda i, f, s: IMAGE.avg_pool2d(kernel_size=i(2), padding=i(1)),
    "interpolate": lambda i, f, s: IMAGE.interpolate(s((4, 4))),
    "attention": lambda i, f, s: X.scaled_dot_product_attention(
        X.numpy(), X.numpy(), dropout_p=f(0)
    ),
    "cross_entropy": lambda i, f, s: X[0].cross_entropy(s((0, 1, 2)), label_smoothing=f(0.5)),
    "nll_loss": lambda i, f, s: X[0].log_softmax().nll_loss(s((0, 1, 2)), ignore_index=i(1)),
    "assign": lambda i, f, s: Tensor([1.0, 2.0]).assign(s((3.0, 4.0))),
    "rearrange": lambda i, f, s: X.rearrange("a (b c) d -> a b c d", b=i(3)),
}
FORMS = {
    "numpy's numbers, lists": (np.int64, np.float64, list),
    "small numbers, arrays": (np.int16, np.float16, array),
    "arrays without axes": (np.array, np.array, array),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_forms_of_arguments(case, form):
    got = CASES[case](*FORMS[form])
    want = CASES[case](int, float, tuple)
    if isinstance(want, Tensor):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
    elif isinstance(want[0], Tensor):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    else:
        assert got == want


def test_arrays_as_indices():
    for places in (np.array([1, 0]), np.array([[1, 0]]), [1, 0], np.array([False, True])):
        np.testing.assert_array_equal(X[places].numpy(), X.numpy()[places])
    np.testing.assert_array_equal(X[:, np.array([2, 0])].numpy(), X.numpy()[:, [2, 0]])


@pytest.mark.parametrize("wrong", [Tensor([1.0]), [1.0, 2.0], np.ones(2)])
def test_tensors_are_no_numbers(wrong):
    """A tensor where a number is expected must not count as the number of its handle."""
    with pytest.raises((TypeError, ValueError)):
        X.layernorm(-1, wrong)
    with pytest.raises((TypeError, ValueError)):
        X[0].cross_entropy(Tensor([0, 1, 2]), label_smoothing=wrong)


@pytest.mark.parametrize(
    ("kind", "held", "beyond"),
    [
        ("uint8", (0, 255, -1, -255), (256, 300, -256)),
        ("int8", (-128, 127), (128, -129)),
        ("int32", (-(2**31), 2**31 - 1), (2**31, 2**40)),
        ("int64", (-(2**63), 2**63 - 1), (2**63, -(2**63) - 1)),
        ("uint64", (2**64 - 1, 2**63), (2**64,)),
    ],
)
def test_integers_hold_what_they_are_made_of(kind, held, beyond):
    bits = 8 * np.dtype(kind).itemsize
    for value in held:
        want = [np.array(value % 2**bits, f"uint{bits}").view(kind).item()]
        assert Tensor.full((1,), value, dtype=kind).tolist() == want
        assert Tensor([value], dtype=kind).tolist() == want
    for value in beyond:
        numbers = f"{value}, expected integers from {np.iinfo(kind).min} to {np.iinfo(kind).max}"
        numbers += f"|{value} does not fit in a tensor of {kind}"
        with pytest.raises(OverflowError, match=f"{numbers}|{value} does not fit in 64 bits"):
            Tensor.full((1,), value, dtype=kind)
        with pytest.raises(OverflowError, match=f"{numbers}|{value} does not fit in 64 bits"):
            Tensor.zeros(2, dtype=kind).full_like(value)


def test_integers_are_no_other_numbers():
    for number in (float("nan"), float("inf"), 256.0, -1e10):
        with pytest.raises(
            OverflowError, match=r"Tensor: data: .*, expected integers from 0 to 255"
        ):
            Tensor([1.0, number], dtype="uint8")
    assert Tensor([255.9, -3.5], dtype="uint8").tolist() == [255, 253]
    # whole numbers wrap around, and arrays are converted as numpy converts them
    assert Tensor([300, -1], dtype="uint8").tolist() == [44, 255]
    assert Tensor(np.array([300, -1]), dtype="uint8").tolist() == [44, 255]
    x = Tensor([1, 2], dtype="uint8")
    assert x.pad((0, 1), value=-1).tolist() == [1, 2, 255]
    for bad in (lambda: x.pad((0, 1), value=300), lambda: Tensor.full((1,), 1e10, dtype="int32")):
        with pytest.raises(ValueError, match=r"\w+: \w+: is .*, expected integers from "):
            bad()


@pytest.mark.parametrize(
    "call",
    [
        lambda text: Tensor.einsum(text, SQUARE, SQUARE),
        lambda text: SQUARE.rearrange(text),
    ],
)
def test_formulas_are_texts_to_their_end(call):
    with pytest.raises(ValueError, match=r"formula: .*, expected no NUL"):
        call("ij,jk->ik\0garbage")
    with pytest.raises(TypeError, match="formula: is 5, expected a text"):
        call(5)


# What C, classes inside and Python say of values that nobody has checked.
INSIDE = re.compile(
    r"poly_|: arguments: |_handle|\b(?:Base|Creation|Display|Exchange|Indexing|Methods)\.|"
    r"binary_number|has no attribute|has no len|not supported between|unsupported operand|"
    r"object is not|cannot be interpreted|\ba [aeiou]\w+,|Array length|internal error"
)


class Odd:
    """What no argument may be."""


NET = Instance.mlp(layers=[2, 1], loss="mse")
REFUSED = {
    "add": (lambda: X + Tensor([1.0, 2.0, 3.0]), "Tensor.add: operands: shapes "),
    "lshift": (lambda: INTS << 1.5, "Tensor.lshift: operands: is float32"),
    "sub": (lambda: X.sub("x"), "Tensor.sub: x: a str, expected a tensor or a number"),
    "where": (
        lambda: (X > 1).where("x", 2),
        'Tensor.where: x: is "x", expected a tensor or a number',
    ),
    "realize": (lambda: X.realize(1), "realize: lst: an int, expected a tensor"),
    "realize_async": (lambda: X.realize_async(1), "realize_async: others: an int, expected"),
    "backward": (lambda: X.sum().backward(1), "backward: gradient: an int, expected a tensor"),
    "gradient": (lambda: X.sum().gradient(1), "gradient: targets: an int, expected a tensor"),
    "memory": (lambda: Tensor.zeros(2**40).realize(), "Tensor.realize: memory: none for "),
    "setitem": (lambda: changed(X + 0, 9, 1), "Tensor.setitem: index: 9 is out of bounds"),
    "full": (Tensor.full, r"Tensor.full\(\) missing 2|^full\(\) missing 2"),
    "scatter": (lambda: X.scatter(), r"Tensor.scatter\(\) missing 3|^scatter\(\) missing 3"),
    "device": (lambda: Tensor(1, device=1.5), "device: 1.5 is unknown, expected one of CPU"),
    "to": (lambda: X.to(1.5), "device: 1.5 is unknown"),
    "Device.number": (lambda: Device.number(3), "device: 3 is unknown"),
    "from_url": (lambda: Tensor.from_url(1.5), "from_url: url: a float, expected a text"),
    "manual_seed": (lambda: Tensor.manual_seed("x"), "manual_seed: seed: a str, expected an int"),
    "is_float": (lambda: dtypes.is_float(True), "True is not a data type of tensors"),
    "DType": (lambda: type(dtypes.int8)(True), "True is not a data type of tensors"),
    "bind": (
        lambda: Variable("n", 1, 4).bind(9),
        r"Variable.bind: val: 9 is outside of n\[1,4\]",
    ),
    "bind a text": (lambda: Variable("n", 1, 4).bind("x"), "Variable.bind: val: a str, expected"),
    "get_state_dict": (lambda: nn.get_state_dict(X, Odd()), "prefix: an Odd, expected a text"),
    "safe_load": (lambda: state.safe_load(b"123"), "safe_load: fn: 3 bytes, expected at least 8"),
    "attention": (
        lambda: nn.MultiHeadAttention("a", "b"),
        "MultiHeadAttention: embed_dim: a str, expected an int",
    ),
    "attention's dropout": (
        lambda: nn.MultiHeadAttention(4, 2, dropout="x"),
        "MultiHeadAttention: dropout: a str, expected a number",
    ),
    "SGD": (lambda: nn.SGD(3), "SGD: params: an int, expected a list of tensors"),
    "compile_step": (lambda: nn.compile_step(4), "compile_step: function: an int, expected a func"),
    "CompiledTrainingStep": (
        lambda: nn.CompiledTrainingStep(1),
        "CompiledTrainingStep: function: an int, ",
    ),
    "Instance": (lambda: Instance(5), "Instance: handle: 5, expected"),
    "Instance of a text": (lambda: Instance("x"), "Instance: handle: 'x', expected"),
    "call": (lambda: NET.call("nothing"), 'Instance.call: entry: there is no "nothing"'),
    "train_step": (lambda: NET.train_step(), "Instance.train_step: no optimizer is set"),
    "set_optimizer": (
        lambda: NET.set_optimizer("sgd", lr="x"),
        "Instance.set_optimizer: lr: a str, expected a number",
    ),
    "Generator": (lambda: hf.Generator(X), "Generator: inst: a Tensor, expected an Instance"),
    "generate": (lambda: hf.generate(3, [1], 1), "generate: inst: an int, expected an Instance"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_are_in_the_words_of_the_user(case):
    call, want = REFUSED[case]
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError)) as caught:
        call()
    assert re.search(want, str(caught.value)), str(caught.value)
    assert not INSIDE.search(str(caught.value)), str(caught.value)


JUNK = (None, True, 0, -1, 1.5, float("nan"), 2**70, "", "x", b"x", [], [1], [None], ["x"], (0, 1))
JUNK += ({}, {"a": 1}, Odd(), object, ..., 1j, np.ones(2), Tensor([[1.0, 2.0]]), Tensor([0, 1]), X)
# They write to the screen, wait, or make tensors of Python's own things.
LEFT = {"from_blob", "from_url", "train", "test", "sequential", "training"}


def names(owner):
    return [n for n in dir(owner) if n[0] != "_" and n not in LEFT and callable(getattr(owner, n))]


@pytest.mark.parametrize(
    ("owner", "some"),
    [
        ((SQUARE + 0).realize(), names(SQUARE)),  # copies: some methods change the tensor
        ((INTS + 0).realize(), names(INTS)),
        (nn, [n for n in names(nn) if n != "TrainableModel"]),
        (NET, names(NET)),
        (dtypes, ["is_float", "is_int", "is_unsigned", "is_bool", "min", "max"]),
        (Device, ["canonicalize", "require", "number"]),
    ],
    ids=["floats", "integers", "nn", "Instance", "dtypes", "Device"],
)
@pytest.mark.filterwarnings("ignore")
def test_no_error_speaks_of_what_is_inside(owner, some, capsys):
    draw = random.Random(1)
    assert some
    for name in some:
        for _ in range(25):
            given = [draw.choice(JUNK) for _ in range(draw.randrange(4))]
            try:
                getattr(owner, name)(*given)
            except Exception as error:
                text = f"{name}{tuple(map(type, given))}: {type(error).__name__}: {error}"
                assert not INSIDE.search(str(error)), text
