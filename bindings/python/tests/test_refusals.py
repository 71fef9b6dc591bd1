"""Every public function is called with junk for each of its parameters.

It must name the function, the argument, what is given and what is expected, or take the junk
because the parameter's annotation says so.
"""

from __future__ import annotations

import inspect
import operator
import re
from types import FunctionType

import numpy as np
import pytest
from test_arguments import IMAGE, INSIDE, KERNEL

from polygrad import Device, DType, Instance, Job, Tensor, TinyJit, Variable, dtypes, hf, nn, viz
from polygrad import progress as bars
from polygrad.nn import state

JUNK = {
    "None": None, "3": 3, "'x'": "x", "[]": [], "object()": object(), "-9": -9, "nan": float("nan"),
    "{}": {}, "1e300": 1e300, "2**70": 2**70,
    "a tensor of another shape": Tensor.ones(7, 5), "a tensor of bools": Tensor([True, False]),
}  # fmt: skip
# What may also be given for a parameter, by a word of its annotation.
TAKEN = {
    r"\bAny\b|\bOperand\b|object": set(JUNK),
    r"\bNone\b": {"None"},
    r"int\b|float\b|Size": {"3", "-9"},
    r"float\b": {"nan", "1e300", "2**70"},
    r"Tensor\b|Self\b|Sized|Sequence|Iterable": {"a tensor of another shape", "a tensor of bools"},
    r"str\b|PathLike|Source": {"'x'"},
    r"Sequence|Sizes|Iterable|Mapping": {"[]", "{}"},
    r"dict\b": {"{}"},
}
# What an error says of the arguments that would be right.
EXPECTATION = re.compile(
    r"expected|do not (broadcast|multiply)|out of (range|bounds) for|missing|No such file|"
    r"is not a data type|positional argument|there is no|not a valid|but the model has no|"
    r"does not fit in|is outside of"
)
# Python's bools, where the library does not look at them, are what Python takes for true.
BY_HAND = re.compile(r"bool\b")
# A seed may be any integer.
SEEDED = ("generate", "Generator.sampling", "Tensor.manual_seed")
# The description has a default, which tinygrad has not.
FREE = {"Tensor.cumprod(axis=None)", *(f"{f}(seed=2**70)" for f in SEEDED)}
# It is right, and would be too much to compute.
ENDLESS = {"generate(max_new_tokens=2**70)"}
CONFIG = (
    '{"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1, "vocab_size": 5,'
    '"n_positions": 10}'
)
MEMORY = np.ones(4, "float32")


def x():
    return Tensor([[1.0, 2.0], [3.0, 4.0]])


def learned():
    p = Tensor([1.0, 2.0], requires_grad=True)
    p.sum().backward()
    return p


def ints():
    return Tensor([[1, 2], [3, 4]])


def sgd():
    return nn.SGD([Tensor([1.0, 2.0], requires_grad=True)], lr=0.1)


def net():
    return Instance.mlp(layers=[2, 1], loss="mse")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Junk may be the name of a file that is written."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with a model of each kind."""
    folder = tmp_path_factory.mktemp("model")
    made = hf.load_hf_bytes(CONFIG, [], max_seq_len=10, strict=False)
    (folder / "config.json").write_text(CONFIG)
    (folder / "model.safetensors").write_bytes(made.export_weights())
    return folder


# Arguments that fit, by the name of the parameter; functions make new ones.
FIT = {
    "shape": (2, 2), "axis": 0, "dim": 0, "dim0": 0, "dim1": 1, "dtype": "float32",
    "fill_value": 1.5,
    "device": "CPU", "requires_grad": True, "mask": lambda: x() > 1, "optimizer": sgd,
    "index": lambda: Tensor([[0, 1], [1, 0]]), "params": lambda: [x()],
    "parameters": lambda: [learned()],
    "name": "n", "min_val": 1, "max_val": 4, "function": lambda: lambda *args: x().sum(),
    "fxn": lambda: lambda a: a, "steps": 3, "tokens": [1, 2], "max_new_tokens": 2,
    "obj": lambda: nn.Linear(2, 1), "model": lambda: nn.Linear(2, 1), "kind": "sgd",
    "state_dict": lambda: nn.get_state_dict(nn.Linear(2, 1)), "what": lambda: [x() + 1],
    "lr_lambda": lambda: lambda t: 1.0, "kernel_size": 1, "order": [1, 0], "sizes": (1, 2),
    "path": "graph.svg", "text": "a", "url": "data:,hello", "ptr": MEMORY.ctypes.data,
    "tensors": lambda: {"a": x()}, "schedulers": lambda: [], "milestones": lambda: [],
    "min_": 0.0, "max_": 1.0, "normalized_shape": 2, "padding": (1, 1), "repeats": 2, "shifts": 1,
    "reduce": "sum", "arg": None, "size": (2, 2), "val": 1, "split_sizes": 1, "num_classes": 5,
    "formula": "ij->ji", "target_shape": (2, 2), "metrics": 1.0, "data": 1.0, "num_heads": 1,
}  # fmt: skip


def fit(parameter, own):
    if parameter.name in own or parameter.name in FIT:
        value = own.get(parameter.name, FIT.get(parameter.name))
        return value() if isinstance(value, FunctionType) else value
    annotation = str(parameter.annotation)
    for words, value in (("Tensor|Operand|Self", x()), ("int", 1), ("float", 0.5), ("str", "x")):
        if re.search(words, annotation):
            return value
    return x()


def call(function, own, name, junk):
    """Call a function with junk for one parameter, and what fits for those that are needed."""
    args, named = [], {}
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "cls"]
    for i, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL:
            more = own.get(p.name, FIT.get(p.name, ()) if p.name == "shape" else ())
            args += [junk] if p.name == name else more() if callable(more) else more
        elif p.name == name or (p.kind is not p.VAR_KEYWORD and p.default is p.empty):
            value = junk if p.name == name else fit(p, own)
            if p.kind is p.KEYWORD_ONLY or len(args) < i:
                named[p.name] = value
            else:
                args.append(value)
    result = function(*args, **named)
    return list(result) if inspect.isgenerator(result) else result


def faults(said, function, own, tried=JUNK):
    """Return what is wrong with the answers of a function to junk."""
    found = []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            continue
        for text, junk in tried.items():
            where = f"{said}({p.name}={text})"
            annotation = str(p.annotation)
            if where in ENDLESS:
                continue
            try:
                call(function, own, p.name, junk)
            except (TypeError, ValueError, RuntimeError, LookupError, OverflowError, OSError) as e:
                if "the truth of a tensor" in str(e) and BY_HAND.search(annotation):
                    continue
                last = said.split(".")[-1]
                names = "|".join({p.name, "operands?", ALIASES.get(last, p.name)})
                if isinstance(e, KeyError):  # a model without such a parameter
                    continue
                says = isinstance(e, OSError) or EXPECTATION.search(str(e))
                good = isinstance(e, OSError) or (
                    re.match(rf"(\w+\.)?({last}|{CALLS.get(last, last)})\b", str(e))
                    and re.search(rf"\b({names})\b", str(e))
                )
                if INSIDE.search(str(e)) or not good or not says:
                    found.append(f"{where}: {type(e).__name__}: {e}")
            else:
                taken = {
                    t for words, ts in TAKEN.items() if re.search(words, annotation) for t in ts
                }
                default = p.default is not p.empty and text == "None"
                if (
                    text not in taken
                    and not default
                    and not BY_HAND.search(annotation)
                    and where not in FREE
                ):
                    found.append(f"{where} is taken, expected {annotation}")
    return found


# Their own arguments that fit; None leaves one out that has a test of its own.
METHODS = {
    "conv2d": {"self": IMAGE, "weight": KERNEL}, "avg_pool2d": {"self": IMAGE},
    "conv_transpose2d": {"self": IMAGE, "weight": KERNEL}, "max_pool2d": {"self": IMAGE},
    "reshape": {"args": (), "shape": [4]}, "view": {"args": (), "shape": [4]},
    "einsum": {"operands": lambda: [x()]},
    "rearrange": {"formula": "a b -> b a"}, "one_hot": {"self": ints},
    "bitwise_and": {"self": ints, "x": ints}, "bitwise_or": {"self": ints, "x": ints},
    "bitwise_xor": {"self": ints, "x": ints}, "lshift": {"self": ints, "x": 1},
    "rshift": {"self": ints, "x": 1}, "index_select": {"index": lambda: Tensor([0, 1])},
    "sparse_categorical_crossentropy": {"Y": lambda: Tensor([0, 1])},
    "bincount": {"self": lambda: Tensor([0, 1])},
    "nll_loss": {"Y": lambda: Tensor([0, 1])}, "cross_entropy": {"Y": lambda: Tensor([0, 1])},
    "split": {"sizes": 1}, "from_numpy": {"x": MEMORY}, "from_blob": {"shape": (2,)},
    "im2col": {"self": IMAGE, "kernel_size": (2, 2)},
    "pixel_unshuffle": {"self": lambda: Tensor.ones(1, 3, 3), "downscale_factor": 3},
    "col2im": {
        "self": lambda: Tensor.ones(1, 9, 1), "output_size": 3, "kernel_size": (3, 3)
    },
    "pixel_shuffle": {"self": lambda: Tensor.ones(9, 1, 1), "upscale_factor": 3},
    "ctc_loss": {
        "self": lambda: Tensor.ones(2, 1, 3), "targets": Tensor([[1]]),
        "input_lengths": Tensor([2]), "target_lengths": Tensor([1]),
    },
    "interpolate": {"self": IMAGE}, "newton_schulz": {"params": (2.0, -1.5, 0.5)},
    "backward": {"self": lambda: x().sum()}, "gradient": {"self": lambda: x().sum()},
    "arange": {"bounds": (3,)}, "unfold": {"size": 1}, "expand": {"shape": [2, 2]},
    "diag": {"self": lambda: x()[0]}, "meshgrid": {"self": lambda: x()[0]},
    "pad": {"padding": (1, 1)}, "shrink": {"arg": (None, None)}, "roll": {"dims": 0},
}  # fmt: skip
# Arguments that an error of another one may name: those that they must fit, and those before *args.
ALIASES = {
    "col2im": "x|kernel_size",
    "permute": "order", "flip": "axis", "repeat": "repeats", "expand": "shape", "pad_to": "shape",
    "reshape": "shape", "shrink_to": "shape", "view": "shape", "arange": "stop", "roll": "shifts",
    "Variable": "min_val|max_val", "one_hot": "x", "assign": "data|dtype", "to_": "to",
    "init": "device",
    "CosineAnnealingLRWithWarmup": "lr", "MultiHeadAttention": "x|in_features",
    "TransformerBlock": "normalized_shape|out_features",
}  # fmt: skip
# What composes others says which of them refuses; reduce_mean and the like are Python's own.
CALLS = {
    "step": "ReduceLROnPlateau",
    "to_": "to", "MultiHeadAttention": "Linear|scaled_dot_product_attention",
    "Sequential": "Linear",
    "TransformerBlock": r"Linear|Dropout|\w*Norm|MultiHeadAttention|scaled_dot_product_attention",
    "BatchNorm2d": "BatchNorm", "BatchNorm3d": "BatchNorm", "profile": "kernels",
    "ggml_data_to_tensor": "dequantize",
}  # fmt: skip
LEFT = {
    "Tensor": {
        "train",
        "cuda",
        "sequential",
        "batchnorm",
        "max_unpool2d",
        "dropout",
        "bitwise_not",
        "gpu_buffer",
        "from_gpu_buffer",
    },
    "Instance": {"mlp", "tabm", "nam", "train_step"},
}


def methods(owner, name, own=METHODS):
    """Yield the methods of a class, or of an object, with their names."""
    for method in dir(owner):
        if method[0] != "_" and method not in LEFT.get(name, ()):
            yield method, own.get(method, {})


@pytest.mark.parametrize("name", [n for n, _ in methods(Tensor, "Tensor")])
@pytest.mark.filterwarnings("ignore")
def test_methods_of_tensors(name):
    own = METHODS.get(name, {})
    if not callable(getattr(Tensor, name)):
        return
    owner = own.get("self", x)
    owner = owner() if isinstance(owner, FunctionType) else owner
    assert faults(f"Tensor.{name}", getattr(owner, name), own) == []


LAYERS = {
    "Linear": (lambda: nn.Linear(2, 2), x), "LayerNorm": (lambda: nn.LayerNorm(2), x),
    "RMSNorm": (lambda: nn.RMSNorm(2), x), "GroupNorm": (lambda: nn.GroupNorm(1, 2), x),
    "BatchNorm": (lambda: nn.BatchNorm(2), x), "Dropout": (nn.Dropout, x),
    "Embedding": (lambda: nn.Embedding(5, 2), ints), "LSTMCell": (lambda: nn.LSTMCell(2, 2), x),
    "GRUCell": (lambda: nn.GRUCell(2, 2), x),
    "GRU": (lambda: nn.GRU(2, 2), lambda: Tensor.ones(1, 2, 2)),
    "LSTM": (lambda: nn.LSTM(2, 2), lambda: Tensor.ones(1, 2, 2)),
    "Conv2d": (lambda: nn.Conv2d(1, 1, 3), lambda: IMAGE),
    "Sequential": (lambda: nn.Sequential(nn.Linear(2, 2)), x),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(2, 1), lambda: Tensor.ones(1, 2, 2)),
    "TransformerBlock": (lambda: nn.TransformerBlock(2, 1), lambda: Tensor.ones(1, 2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_calls_of_layers(name):
    make, given = LAYERS[name]
    own = dict.fromkeys(("x", "idx", "query"), given)
    assert faults(name, make().__call__, own) == []


# Bases and what is made of other objects have tests of their own.
OTHERS = {"LRScheduler", "Optimizer", "OptimizerGroup", "SequentialLR", "OneCycleLR"}
CLASSES = [n for n in nn.__all__ if callable(getattr(nn, n)) and n not in OTHERS]


@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_functions_of_nn(name):
    own = {"function": lambda: nn.compile_step(lambda: x().sum())._function}
    assert faults(name, getattr(nn, name), own if name == "CompiledTrainingStep" else {}) == []


def objects(folder):
    """Return what else is public: functions by how errors name them, with arguments that fit."""
    path = str(folder / "model.safetensors")
    lm = hf.load_hf(folder)
    fed = hf.Generator(lm, 1)
    fed.feed([[1]])
    bundle, blocks = net().save_bundle(), Tensor([0, 60] + [1, 2] * 16, dtype="uint8")
    functions = [
        ("load_hf", hf.load_hf, {"path": folder}),
        ("load_hf_bytes", hf.load_hf_bytes, {"config": CONFIG, "weights": [lm.export_weights()]}),
        ("generate", hf.generate, {"inst": lm}),
        ("Generator", hf.Generator, {"inst": lm}),
        ("graph", viz.graph, {"tensors": lambda: [x() + 1]}),
        ("kernels", viz.kernels, {"what": lambda: [x() + 1]}),
        ("profile", viz.profile, {"what": lambda: [x() + 1]}),
        ("save", viz.save, {"tensors": lambda: [x() + 1], "path": str(folder / "graph.svg")}),
        ("trange", bars.trange, {"n": 2}),
        ("Variable", Variable, {}),
        ("DType", lambda name: DType(name), {"name": "int8"}),
        ("Tensor", Tensor, {}),
        ("TinyJit", TinyJit, {}),
        ("Job", Job, {"tensors": lambda: [x()]}),
        ("safe_load", state.safe_load, {"fn": path}),
        ("safe_load_metadata", state.safe_load_metadata, {"fn": path}),
        ("safe_save", state.safe_save, {"fn": str(folder / "other.safetensors")}),
        ("gguf_load", state.gguf_load, {"fn": path}),
        ("torch_load", state.torch_load, {"fn": path}),
        ("ggml_data_to_tensor", state.ggml_data_to_tensor, {"t": blocks, "n": 32, "ggml_type": 8}),
    ]
    owners = [
        ("Generator", fed, {"feed": {"tokens": [[1]]}, "ends": {"tokens": [1]}}),
        ("Instance", net(), {
            "call": {"entry": "forward"}, "value_and_grad": {"entry": "loss"},
            "set_device": {"name": "CPU"}, "from_bundle": {"data": bundle},
            "import_weights": {"data": net().export_weights()},
            "from_ir": {"ir": net().export_ir()},
        }),
        ("Device", Device, {n: {"name": "CPU"} for n in ("canonicalize", "require", "number")}),
        ("dtypes", dtypes, {}),
        ("SGD", sgd(), {}),
        ("StepLR", nn.StepLR(sgd(), 2), {}),
        ("ReduceLROnPlateau", nn.ReduceLROnPlateau(sgd()), {}),
        ("Job", Job([x()]), {}),
        ("Variable", Variable("n", 1, 8), {n: {"other": 3} for n in ("minimum", "maximum")}),
    ]  # fmt: skip
    for name, owner, own in owners:
        for method, given in methods(owner, name, own):
            static = inspect.getattr_static(owner, method)
            if isinstance(static, property) or not callable(getattr(owner, method)):
                continue
            if not isinstance(static, DType) and method != "unbind":
                functions.append((f"{name}.{method}", getattr(owner, method), given))
    return functions


@pytest.mark.filterwarnings("ignore")
def test_everything_else(model, capsys):
    found = [f for name, call, own in objects(model) for f in faults(name, call, own)]
    assert found == []


@pytest.mark.parametrize("name", ["add", "sub", "mul", "floordiv", "lt", "ge"])
@pytest.mark.parametrize("owner", [x, lambda: Variable("n", 1, 8)], ids=["Tensor", "Variable"])
def test_operators_speak_as_pythons_own(owner, name):
    for junk in ("x", None, object()):
        for pair in ((owner(), junk), (junk, owner())):
            with pytest.raises(
                TypeError, match=r"unsupported operand|not supported|not all arg|conc|seq|index"
            ):
                getattr(operator, name)(*pair)


def test_junk_that_is_taken_is_seen():
    """The test above must be able to fail."""

    def quiet(count: int) -> None:
        pass

    def wrong(count: int) -> None:
        raise ValueError("poly_wrong: n: 3")

    assert len(faults("quiet", quiet, {})) == 10
    assert len(faults("wrong", wrong, {})) == len(JUNK)
