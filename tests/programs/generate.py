"""Write tests/programs.json: small programs that must mean the same in every language.

They are about variables: views, writes, who reads what, gradients, optimizers, compiled functions
and mistakes. What operations compute is the business of tests/ops.json. The expected values come
from a plain model here: a tensor is positions in an array of elements, a view is other positions in
the same array, and a write changes elements.

    python tests/programs/generate.py

README.md has the format.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any, Callable

import functions
import numpy as np

PATH = Path(__file__).resolve().parent.parent / "programs.json"

Statement = dict[str, Any]


class Cell:
    """The elements that a tensor and its views share."""

    def __init__(self, elements: np.ndarray[Any, Any]) -> None:
        self.elements = elements


class Shown:
    """A tensor: positions in a cell."""

    def __init__(self, cell: Cell, at: np.ndarray[Any, Any]) -> None:
        self.cell = cell
        self.at = at

    @staticmethod
    def of(values: np.ndarray[Any, Any]) -> Shown:
        """Return a tensor with elements of its own."""
        flat = np.array(values).reshape(-1)
        return Shown(Cell(flat), np.arange(flat.size).reshape(np.shape(values)))

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """The elements now."""
        return self.cell.elements[self.at]


def shrink(a: Any, bounds: list[list[int]]) -> Any:
    """Return the elements between two bounds of each axis."""
    if len(bounds) != a.ndim or any(hi > n for (_, hi), n in zip(bounds, a.shape)):
        raise ValueError("bounds of another shape")
    return a[tuple(slice(*b) for b in bounds)]


# Views, as functions of arrays.
SHOWN: dict[str, Callable[..., Any]] = {
    "reshape": lambda a, shape: a.reshape(shape),
    "permute": lambda a, order: a.transpose(order),
    "transpose": lambda a: a.swapaxes(1, 0),
    "flip": lambda a, axis: np.flip(a, axis),
    "shrink": lambda a, arg: shrink(a, arg),
    "unsqueeze": lambda a, dim: np.expand_dims(a, dim),
    "flatten": lambda a: a.reshape(-1),
    "unflatten": lambda a, dim, sizes: a.reshape(*a.shape[:dim], *sizes, *a.shape[dim + 1 :]),
    "diagonal": lambda a: a.diagonal(),
    "detach": lambda a: a,
}

# Views of a tensor of shape (4, 3): operations and their arguments.
VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("reshape", {"shape": [3, 4]}),
    ("permute", {"order": [1, 0]}),
    ("transpose", {}),
    ("flip", {"axis": [1]}),
    ("shrink", {"arg": [[1, 3], [0, 3]]}),
    ("unsqueeze", {"dim": 0}),
    ("flatten", {}),
    ("unflatten", {"dim": 0, "sizes": [2, 2]}),
    ("diagonal", {}),
    ("detach", {}),
    ("getitem", {"items": [1]}),
    ("getitem", {"items": [{"slice": [1, None, None]}]}),
    ("getitem", {"items": [{"slice": [None, None, 2]}, -1]}),
    ("getitem", {"items": [{"slice": [None, None, -1]}]}),
    ("getitem", {"items": ["...", None, {"slice": [0, 2, None]}]}),
]

# Operations on tensors, as functions of arrays.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "square": lambda x: x * x,
    "sum": lambda x, axis=None: x.sum(axis),
    "max": lambda x, axis=None: x.max(axis),
    "expand": lambda x, shape: np.broadcast_to(x, shape).copy(),
    "contiguous": lambda x: x,
    "clone": lambda x: x,
    "matmul": lambda x, y: x @ y,
    "pad": lambda x, padding: np.pad(x, padding),
    "cast": lambda x, dtype: x.astype(dtype),
}

SHAPE = (4, 3)


def start(name: str = "x", lazy: bool = False, **more: Any) -> list[Statement]:
    """Return statements that make a tensor of 12 numbers, computed or not."""
    values = [float((7 * i) % 12 - 5) for i in range(12)]
    if not lazy:
        return [{"let": name, "data": values, "shape": list(SHAPE), "dtype": "float32", **more}]
    return [
        {"let": "from", "data": values, "shape": list(SHAPE), "dtype": "float32"},
        {"let": name, "op": "add", "of": ["from"], "with": 1},
    ]


class Program:
    """A program that is run by the model as it is written down."""

    def __init__(self, topic: str, name: str) -> None:
        self.topic, self.name = topic, name
        self.statements: list[Statement] = []
        self.tensors: dict[str, Shown] = {}

    def do(self, *statements: Statement) -> Program:
        """Add statements."""
        for s in statements:
            self.run(s)
            self.statements.append(s)
        return self

    def value(self, given: Any) -> Any:
        """Return a value as an array or a number."""
        return self.tensors[given["var"]].values if isinstance(given, dict) else given

    def items(self, items: list[Any]) -> tuple[Any, ...]:
        """Return an index expression as numpy's."""
        out: list[Any] = []
        for item in items:
            if isinstance(item, dict) and "slice" in item:
                out.append(slice(*item["slice"]))
            elif isinstance(item, dict):
                out.append(self.tensors[item["var"]].values)
            else:
                out.append(Ellipsis if item == "..." else item)
        return tuple(out)

    def write(self, x: Shown, value: Any) -> None:
        """Give the elements of a tensor other values."""
        new = np.broadcast_to(np.array(value, x.cell.elements.dtype), x.at.shape)
        x.cell.elements[x.at] = new

    def run(self, s: Statement) -> None:
        """Run a statement."""
        if "data" in s:
            self.tensors[s["let"]] = Shown.of(np.array(s["data"], s["dtype"]).reshape(s["shape"]))
        elif "op" in s:
            self.tensors[s["let"]] = self.call(s)
        elif "assign" in s:
            self.write(self.tensors[s["assign"]], self.value(s["value"]))
        elif "set" in s:
            x = self.tensors[s["set"]]
            at = x.at[self.items(s["items"])]
            self.write(Shown(x.cell, at), self.value(s["value"]))
        elif "drop" in s:
            del self.tensors[s["drop"]]

    def call(self, s: Statement) -> Shown:
        """Return the result of an operation."""
        x = self.tensors[s["of"][0]]
        args = s.get("args", {})
        if s["op"] in SHOWN:
            return Shown(x.cell, np.array(SHOWN[s["op"]](x.at, **args)))
        if s["op"] == "getitem":
            items = self.items(args["items"])
            at = x.at[items]
            if any(isinstance(i, np.ndarray) for i in items):  # positions: a copy
                return Shown.of(x.cell.elements[at])
            return Shown(x.cell, np.array(at))
        operands = [self.tensors[name].values for name in s["of"]]
        if "with" in s:
            operands.append(s["with"])
        result = FUNCTIONS[s["op"]](*operands, **args)
        return Shown.of(np.asarray(result, operands[0].dtype if s["op"] != "cast" else None))

    def expect(self, *names: str) -> Program:
        """Add what tensors must be now."""
        for name in names:
            x = self.tensors[name]
            self.statements.append(
                {
                    "expect": name,
                    "shape": list(x.at.shape),
                    "dtype": str(x.cell.elements.dtype),
                    "values": x.values.reshape(-1).tolist(),
                }
            )
        return self

    def that(self, *statements: Statement) -> Program:
        """Add statements that the model does not run: expectations written by hand."""
        self.statements += statements
        return self

    def json(self) -> dict[str, Any]:
        """Return the program for the file."""
        return {"topic": self.topic, "name": self.name, "do": self.statements}


def let(name: str, op: str, *of: str, **args: Any) -> Statement:
    """Return a call of an operation; the argument number is an operand that is no tensor."""
    s: Statement = {"let": name, "op": op, "of": list(of)}
    if "number" in args:
        s["with"] = args.pop("number")
    if args:
        s["args"] = args
    return s


def tensor(name: str, *data: float, **more: Any) -> Statement:
    """Return a vector of float32."""
    return {
        "let": name,
        "data": [float(d) for d in data],
        "shape": [len(data)],
        "dtype": "float32",
        **more,
    }


def assign(name: str, value: Any) -> Statement:
    return {"assign": name, "value": var(value)}


def put(name: str, items: list[Any], value: Any) -> Statement:
    return {"set": name, "items": items, "value": var(value)}


def var(value: Any) -> Any:
    return {"var": value} if isinstance(value, str) else value


def realize(*names: str) -> Statement:
    return {"realize": list(names)}


def text(args: dict[str, Any]) -> str:
    """Return arguments as text for the name of a program."""
    return json.dumps(args, separators=(",", ":")) if args else ""


def views() -> list[Program]:
    """Each view of a tensor shows what is written later, and what is written to it arrives."""
    out = []
    for (op, args), lazy in product(VIEWS, (False, True)):
        made = "lazy" if lazy else "computed"
        where = f"{op}{text(args)} of a {made} tensor"
        p = Program("views", f"{where} shows an assignment").do(*start(lazy=lazy))
        p.do(let("v", op, "x", **args), assign("x", 9)).expect("v", "x")
        out.append(p)
        p = Program("views", f"{where} is assigned to").do(*start(lazy=lazy))
        p.do(let("v", op, "x", **args), assign("v", 9)).expect("x", "v")
        out.append(p)
        p = Program("views", f"{where} is read, then written").do(*start(lazy=lazy))
        p.do(let("v", op, "x", **args)).expect("v")
        p.do(put("x", [0], 3), assign("v", 4)).expect("x", "v")
        out.append(p)
    for (op, args), (op2, args2) in product(VIEWS[:6], VIEWS):
        p = Program("views", f"{op2}{text(args2)} of {op}{text(args)}").do(*start())
        try:
            p.do(let("v", op, "x", **args), let("w", op2, "v", **args2))
        except (IndexError, ValueError):
            continue  # the second is none of that shape
        p.do(assign("w", 5)).expect("x", "v", "w")
        p.do(put("x", [{"slice": [None, None, 2]}], 1)).expect("w", "v")
        out.append(p)
    return out


def readers() -> list[Program]:
    """What was made of a tensor keeps its values when the tensor is written."""
    made: list[tuple[str, list[Statement]]] = [
        ("a sum", [let("y", "sum", "x")]),
        ("a function", [let("y", "mul", "x", number=2)]),
        (
            "a function of a function",
            [let("z", "mul", "x", number=2), let("y", "add", "z", number=1)],
        ),
        (
            "a product of a dropped view",
            [let("v", "transpose", "x"), let("y", "matmul", "x", "v"), {"drop": "v"}],
        ),
        ("a clone", [let("y", "clone", "x")]),
        ("a contiguous copy", [let("y", "contiguous", "x"), let("y", "add", "y", number=0)]),
        (
            "an expanded row",
            [let("r", "getitem", "x", items=[0]), let("y", "expand", "r", shape=[2, 3])],
        ),
        ("a padded tensor", [let("y", "pad", "x", padding=[[1, 0], [0, 2]])]),
        ("a function of a view", [let("v", "flip", "x", axis=[1]), let("y", "neg", "v")]),
        ("a cast", [let("y", "cast", "x", dtype="int32")]),
    ]
    writes: list[tuple[str, list[Statement]]] = [
        ("is assigned a number", [assign("x", 7)]),
        ("is set in part", [put("x", [{"slice": [1, 3, None]}], 7)]),
        ("is written through a view", [let("w", "reshape", "x", shape=[3, 4]), put("w", [1], -1)]),
        ("is assigned a function of itself", [let("n", "mul", "x", number=3), assign("x", "n")]),
    ]
    out = []
    for (what, makes), (how, does), lazy in product(made, writes, (False, True)):
        state = "lazy" if lazy else "computed"
        p = Program("readers", f"{what} of a {state} tensor that {how}").do(*start(lazy=lazy))
        out.append(p.do(*makes, *does).expect("y", "x"))
    p = Program("readers", "versions of a tensor that is written three times").do(*start())
    for i in range(3):
        p.do(let(f"y{i}", "add", "x", number=i), assign("x", i))
    out.append(p.expect("y0", "y1", "y2", "x"))
    p = Program("readers", "a reader that is computed between two writes").do(*start())
    p.do(let("y", "mul", "x", number=2), put("x", [0], 5), realize("y"), put("x", [1], 6))
    out.append(p.expect("y", "x"))
    p = Program("readers", "a reader of what was assigned").do(*start())
    p.do(let("n", "mul", "x", number=2), assign("x", "n"), let("y", "add", "n", number=1))
    out.append(p.do(assign("x", 0)).expect("y", "n", "x"))
    p = Program("readers", "two tensors that read each other are swapped").do(
        tensor("a", 1, 2), tensor("b", 3, 4)
    )
    p.do(let("c", "clone", "a"), assign("a", "b"), assign("b", "c"))
    out.append(p.expect("a", "b", "c"))
    p = Program("readers", "a clone and its original are written").do(*start())
    p.do(let("c", "clone", "x"), put("c", [0], 1), put("x", [1], 2))
    out.append(p.expect("c", "x"))
    p = Program("readers", "a dropped tensor whose view is written").do(*start())
    p.do(
        let("v", "getitem", "x", items=[{"slice": [1, None, None]}]), {"drop": "x"}, assign("v", 2)
    )
    out.append(p.expect("v"))
    return out


def hazards() -> list[Program]:
    """A value that is computed from what it is written to is computed from the old contents."""
    values: list[tuple[str, list[Statement]]] = [
        ("flipped", [let("y", "flip", "x", axis=[1])]),
        ("reversed", [let("y", "getitem", "x", items=[{"slice": [None, None, -1]}])]),
        ("plus its sum", [let("s", "sum", "x"), let("y", "add", "x", "s")]),
        ("minus its rows flipped", [let("v", "flip", "x", axis=[1]), let("y", "sub", "x", "v")]),
        ("itself", [let("y", "clone", "x")]),
        ("a view of itself", [let("y", "detach", "x")]),
    ]
    out = []
    for (what, makes), lazy in product(values, (False, True)):
        state = "lazy" if lazy else "computed"
        p = Program("hazards", f"a {state} tensor is assigned itself, {what}").do(*start(lazy=lazy))
        out.append(p.do(*makes, assign("x", "y")).expect("x"))
    p = Program("hazards", "a square matrix is assigned its transpose")
    p.do({"let": "x", "data": [1.0, 2.0, 3.0, 4.0], "shape": [2, 2], "dtype": "float32"})
    out.append(p.do(let("y", "transpose", "x"), assign("x", "y")).expect("x", "y"))
    shifts = [
        ([{"slice": [1, None, None]}], [{"slice": [0, -1, None]}]),
        ([{"slice": [0, -1, None]}], [{"slice": [1, None, None]}]),
        (
            [{"slice": [None, None, None]}, {"slice": [1, None, None]}],
            [{"slice": [None, None, None]}, {"slice": [0, -1, None]}],
        ),
        ([{"slice": [0, 2, None]}], [{"slice": [2, 4, None]}]),
        ([{"slice": [None, None, 2]}], [{"slice": [1, None, 2]}]),
        ([{"slice": [0, 2, None]}], [{"slice": [3, 1, -1]}]),
    ]
    for (to, source), lazy in product(shifts, (False, True)):
        state = "lazy" if lazy else "computed"
        p = Program(
            "hazards",
            f"a part of a {state} tensor is set to another: {text({'to': to, 'from': source})}",
        )
        p.do(*start(lazy=lazy)).do(let("y", "getitem", "x", items=source), put("x", to, "y"))
        out.append(p.expect("x", "y"))
    for lazy in (False, True):
        p = Program(
            "hazards", f"rows of a {'lazy' if lazy else 'computed'} tensor are set in a loop"
        ).do(*start(lazy=lazy))
        for i in range(1, 4):
            p.do(
                let("r", "getitem", "x", items=[i - 1]),
                let("n", "add", "r", number=i),
                put("x", [i], "n"),
            )
        out.append(p.expect("x"))
    p = Program("hazards", "a running sum that is assigned a hundred times").do(
        tensor("x", 0, 0), tensor("d", 1, 2)
    )
    for _ in range(100):
        p.do(let("y", "add", "x", "d"), assign("x", "y"))
    out.append(p.expect("x"))
    p = Program("hazards", "elements are set one by one").do(*start())
    for i, j in product(range(4), range(3)):
        p.do(put("x", [i, j], i * 3 + j))
    out.append(p.expect("x"))
    p = Program("hazards", "positions in a tensor").do(*start())
    p.do({"let": "i", "data": [3, 0], "shape": [2], "dtype": "int32"}, put("x", [{"var": "i"}], 8))
    out.append(p.expect("x", "i"))
    p = Program("hazards", "what is looked up by positions is no view").do(*start())
    p.do({"let": "i", "data": [3, 0], "shape": [2], "dtype": "int32"})
    p.do(let("y", "getitem", "x", items=[{"var": "i"}]), put("x", [0], 1), assign("y", 2))
    out.append(p.expect("x", "y"))
    return out


def gradients() -> list[Program]:
    """Gradients: of what, when, and with which contents."""
    out = []

    def w(*values: float) -> Statement:
        return tensor("w", *values, grad=True)

    def backward(name: str) -> Statement:
        return {"backward": name}

    def grad(name: str, *values: float) -> Statement:
        return {"expect_grad": name, "values": [float(v) for v in values]}

    def no_grad(name: str) -> Statement:
        return {"expect_grad": name, "values": None}

    def program(name: str) -> Program:
        p = Program("gradients", name)
        out.append(p)
        return p

    square = [let("y", "square", "w"), let("loss", "sum", "y")]
    program("of a sum of squares").do(w(1, -2)).that(no_grad("w")).do(*square).that(
        backward("loss"), grad("w", 2, -4)
    )
    program("two calls add up").do(w(1, -2), *square).that(
        backward("loss"), backward("loss"), grad("w", 4, -8)
    )
    program("forgotten, then computed again").do(w(3), *square).that(
        backward("loss"), {"zero_grad": "w"}, no_grad("w"), backward("loss"), grad("w", 6)
    )
    program("through a computed tensor").do(w(1, 3), let("y", "square", "w"), realize("y")).do(
        let("loss", "sum", "y"), realize("loss")
    ).that(backward("loss"), grad("w", 2, 6))
    program("through two computed tensors").do(
        w(2),
        let("a", "square", "w"),
        realize("a"),
        let("b", "square", "a"),
        realize("b"),
        let("loss", "sum", "b"),
    ).that(backward("loss"), grad("w", 32))
    program("of two variables, of which one is used twice").do(
        w(1, 2),
        tensor("u", 3, 4, grad=True),
        let("p", "mul", "w", "u"),
        let("q", "add", "p", "w"),
        let("loss", "sum", "q"),
    ).that(backward("loss"), grad("w", 4, 5), grad("u", 1, 2))
    program("none flows through detach").do(
        w(1, 2), let("d", "detach", "w"), let("p", "mul", "w", "d"), let("loss", "sum", "p")
    ).that(backward("loss"), grad("w", 1, 2))
    program("through a view").do(
        {
            "let": "w",
            "data": [1.0, 2.0, 3.0, 4.0],
            "shape": [2, 2],
            "dtype": "float32",
            "grad": True,
        },
        let("r", "getitem", "w", items=[1]),
        let("y", "square", "r"),
        let("loss", "sum", "y"),
    ).that(backward("loss"), grad("w", 0, 0, 6, 8))
    program("through an expanded tensor").do(
        w(2), let("e", "expand", "w", shape=[3]), let("y", "square", "e"), let("loss", "sum", "y")
    ).that(backward("loss"), grad("w", 12))
    program("through positions").do(
        w(1, 2, 3),
        {"let": "i", "data": [2, 2, 0], "shape": [3], "dtype": "int32"},
        let("y", "getitem", "w", items=[{"var": "i"}]),
        let("loss", "sum", "y"),
    ).that(backward("loss"), grad("w", 1, 0, 2))
    program("with a gradient that comes in").do(
        w(1, 2), tensor("g", 10, 100), let("y", "square", "w")
    ).that({"backward": "y", "gradient": "g"}, grad("w", 20, 400))
    program("a tensor without one has none").do(
        w(1), tensor("x", 5), let("p", "mul", "w", "x"), let("loss", "sum", "p")
    ).that(backward("loss"), grad("w", 5), no_grad("x"))
    program("of the contents when it was read").do(
        w(3), let("y", "square", "w"), let("loss", "sum", "y"), backward("loss")
    ).that(grad("w", 6), {"zero_grad": "w"}).do(
        assign("w", 5), let("z", "square", "w"), let("more", "sum", "z")
    ).that(backward("more"), grad("w", 10))
    program("a gradient does not change when the tensor is written").do(w(3), *square).that(
        backward("loss")
    ).do(assign("w", 0)).that(grad("w", 6))
    program("nothing requires one").do(tensor("x", 1), let("loss", "sum", "x")).that(
        {"error": "requires a gradient", "do": backward("loss")}
    )
    program("a tensor of several elements").do(w(1, 2), let("y", "square", "w")).that(
        {"error": "expected one element", "do": backward("y")}
    )
    program("integers have none").that(
        {
            "error": "float",
            "do": {"let": "i", "data": [1], "shape": [1], "dtype": "int32", "grad": True},
        }
    )
    for steps in (1, 3):
        for kind, args, expected in OPTIMIZERS:
            p = program(f"{steps} step(s) of {kind}{text(args)}").do(w(1, -2))
            p.that({"optimizer": "o", "kind": kind, "params": ["w"], "lr": 0.125, "args": args})
            for _ in range(steps):
                p.that({"zero_grad": "w"})
                p.that(*square, backward("loss"), {"step": "o"})
            p.that(
                {
                    "expect": "w",
                    "shape": [2],
                    "dtype": "float32",
                    "values": expected(np.array([1.0, -2.0]), steps),
                    "tolerance": 1e-5,
                }
            )
    program("a step keeps what was read before").do(
        w(1, -2), let("before", "mul", "w", number=2)
    ).that(
        {"optimizer": "o", "kind": "sgd", "params": ["w"], "lr": 0.25, "args": {}},
        *square,
        backward("loss"),
        {"step": "o"},
        {"expect": "before", "shape": [2], "dtype": "float32", "values": [2.0, -4.0]},
        {"expect": "w", "shape": [2], "dtype": "float32", "values": [0.5, -1.0]},
    )
    program("a view of a parameter shows a step").do(
        w(1, -2), let("v", "flip", "w", axis=[0])
    ).that(
        {"optimizer": "o", "kind": "sgd", "params": ["w"], "lr": 0.25, "args": {}},
        *square,
        backward("loss"),
        {"step": "o"},
        {"expect": "v", "shape": [2], "dtype": "float32", "values": [-1.0, 0.5]},
    )
    program("a parameter without a gradient stays").do(
        w(1), tensor("u", 2, grad=True), *square
    ).that(
        {"optimizer": "o", "kind": "sgd", "params": ["w", "u"], "lr": 0.25, "args": {}},
        backward("loss"),
        {"step": "o"},
        {"expect": "u", "shape": [1], "dtype": "float32", "values": [2.0]},
        {"expect": "w", "shape": [1], "dtype": "float32", "values": [0.5]},
    )
    return out


def sgd(momentum: float, nesterov: bool) -> Callable[[Any, int], list[float]]:
    """Return what gradient descent makes of w, whose gradient is 2 w."""

    def run(w: Any, steps: int) -> list[float]:
        b = np.zeros_like(w)
        for _ in range(steps):
            g = 2 * w
            b = momentum * b + g
            w = w - 0.125 * (g + momentum * b if nesterov else b)
        return list(w)

    return run


def adam(decay: float, decoupled: bool) -> Callable[[Any, int], list[float]]:
    """Return what Adam makes of w, whose gradient is 2 w."""

    def run(w: Any, steps: int) -> list[float]:
        m, v = np.zeros_like(w), np.zeros_like(w)
        for t in range(1, steps + 1):
            g = 2 * w + (0 if decoupled else decay * w)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            move = m / (1 - 0.9**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            w = w - 0.125 * (move + (decay * w if decoupled else 0))
        return list(w)

    return run


OPTIMIZERS: list[tuple[str, dict[str, Any], Callable[[Any, int], list[float]]]] = [
    ("sgd", {}, sgd(0, False)),
    ("sgd", {"momentum": 0.5}, sgd(0.5, False)),
    ("sgd", {"momentum": 0.5, "nesterov": True}, sgd(0.5, True)),
    ("adam", {}, adam(0, False)),
    ("adamw", {"weight_decay": 0.25}, adam(0.25, True)),
]


def compiled() -> list[Program]:
    """Functions that are compiled: what they read, write and return."""
    out = []

    def program(name: str) -> Program:
        p = Program("compiled", name)
        out.append(p)
        return p

    def run(name: str, *given: str) -> Statement:
        return {"run": "f", "with": list(given), "let": [name]}

    def function(*params: str, do: list[Statement], returns: list[str]) -> Statement:
        return {"function": "f", "params": list(params), "do": do, "returns": returns}

    def expect(name: str, *values: float) -> Statement:
        return {
            "expect": name,
            "shape": [len(values)],
            "dtype": "float32",
            "values": [float(v) for v in values],
        }

    double = function("a", do=[let("y", "mul", "a", number=2)], returns=["y"])
    p = program("new arguments give new results").that(double)
    for i in range(4):
        p.that(tensor("x", i, i + 1), run(f"r{i}", "x"))
    p.that(*(expect(f"r{i}", 2 * i, 2 * i + 2) for i in range(4)))
    p = program("a captured tensor is read at each run").that(tensor("w", 1, 2))
    p.that(function("a", do=[let("y", "add", "a", "w")], returns=["y"]))
    for i in range(4):
        p.that(tensor("x", 10, 20), assign("w", i), run("r", "x"), expect("r", 10 + i, 20 + i))
    p = program("a captured tensor that is assigned").that(tensor("w", 1, 2))
    p.that(
        function(
            "a",
            do=[let("n", "add", "w", "a"), assign("w", "n"), let("y", "mul", "w", number=1)],
            returns=["y"],
        )
    )
    for i in range(1, 5):
        p.that(
            tensor("x", 1, 10),
            run("r", "x"),
            expect("r", 1 + i, 2 + 10 * i),
            expect("w", 1 + i, 2 + 10 * i),
        )
    p = program("a reader from before keeps its values").that(tensor("w", 1, 2))
    p.that(
        function(
            "a",
            do=[let("n", "add", "w", "a"), assign("w", "n"), let("y", "sum", "n")],
            returns=["y"],
        )
    )
    for i in range(1, 5):
        p.that(let(f"before{i}", "mul", "w", number=1), tensor("x", 1, 1), run("r", "x"))
    p.that(*(expect(f"before{i}", i, 1 + i) for i in range(1, 5)))
    p = program("a view of a captured tensor shows what a run writes").that(
        tensor("w", 1, 2), let("v", "flip", "w", axis=[0])
    )
    p.that(
        function(
            "a",
            do=[let("n", "add", "w", "a"), assign("w", "n"), let("y", "sum", "n")],
            returns=["y"],
        )
    )
    for i in range(1, 5):
        p.that(tensor("x", 1, 10), run("r", "x"), expect("v", 2 + 10 * i, 1 + i))
    p = program("results of runs are tensors of their own").that(double)
    p.that(
        tensor("x", 1, 2),
        run("a", "x"),
        run("b", "x"),
        run("c", "x"),
        run("d", "x"),
        assign("c", 0),
        expect("d", 2, 4),
        expect("a", 2, 4),
    )
    p = program("an argument that is a view").that(double, tensor("x", 1, 2, 3))
    for _ in range(4):
        p.that(let("v", "flip", "x", axis=[0]), run("r", "v"), expect("r", 6, 4, 2))
    p = program("an argument that is lazy").that(double, tensor("x", 1, 2))
    for _ in range(4):
        p.that(let("v", "add", "x", number=1), run("r", "v"), expect("r", 4, 6))
    p = program("a training step").that(tensor("w", 1, -2, grad=True))
    p.that({"optimizer": "o", "kind": "sgd", "params": ["w"], "lr": 0.25, "args": {}})
    p.that(
        function(
            "a",
            do=[
                {"zero_grad": "w"},
                let("d", "sub", "w", "a"),
                let("y", "square", "d"),
                let("loss", "sum", "y"),
                {"backward": "loss"},
                {"step": "o"},
            ],
            returns=["loss"],
        )
    )
    w = np.array([1.0, -2.0])
    for _ in range(4):
        loss = float((w * w).sum())
        w = w / 2
        p.that(
            tensor("x", 0, 0),
            run("r", "x"),
            {"expect": "r", "shape": [], "dtype": "float32", "values": [loss]},
            expect("w", *w),
        )
    p = program("another shape is an error").that(double)
    for _ in range(3):
        p.that(tensor("x", 1, 2), run("r", "x"))
    p.that(tensor("x", 1, 2, 3), {"error": "expected", "do": run("r", "x")})
    p = program("another type is an error").that(double)
    for _ in range(3):
        p.that(tensor("x", 1, 2), run("r", "x"))
    p.that(
        {"let": "x", "data": [1, 2], "shape": [2], "dtype": "int32"},
        {"error": "expected", "do": run("r", "x")},
    )
    return out


def traced() -> list[Program]:
    """Functions that are compiled: sizes, random numbers, and what they cannot do."""
    out = []

    def program(name: str) -> Program:
        p = Program("traced", name)
        out.append(p)
        return p

    def function(name: str, *params: str, do: list[Statement], returns: list[str]) -> Statement:
        return {"function": name, "params": list(params), "do": do, "returns": returns}

    def run(name: str, result: str, *given: str) -> Statement:
        return {"run": name, "with": list(given), "let": [result]}

    def expect(name: str, *values: float) -> Statement:
        shape = [len(values)]
        return {
            "expect": name,
            "shape": shape,
            "dtype": "float32",
            "values": list(map(float, values)),
        }

    size = {"size": "n", "min": 1, "max": 6}
    total = {"dtype": "float32", "shape": []}
    numbers = (1, 2, 4, 8, 16, 32)
    for lengths in ((2, 4, 3, 6, 1), (6, 6, 5, 5), (1, 2, 1, 6)):
        p = program(f"a function of the first {lengths} elements").that(tensor("x", *numbers), size)
        do = [let("d", "mul", "a", number=2), let("y", "sum", "d")]
        p.that(function("f", "a", do=do, returns=["y"]))
        for k in lengths:
            p.that({"let": "v", "first": "n", "is": k, "of": ["x"]}, run("f", "r", "v"))
            p.that({"expect": "r", **total, "values": [2.0 * sum(numbers[:k])]})
    p = program("the elements of a symbolic length, without a function").that(
        tensor("x", *numbers), size
    )
    for k in (3, 1, 6):
        p.that(
            {"let": "v", "first": "n", "is": k, "of": ["x"]},
            let("s", "square", "v"),
            let("r", "sum", "s"),
        )
        p.that({"expect": "r", **total, "values": [float(sum(v * v for v in numbers[:k]))]})
    p = program("a length beyond its greatest").that(tensor("x", *numbers), size)
    p.that({"error": "6", "do": {"let": "v", "first": "n", "is": 7, "of": ["x"]}})

    draw = let("r", "rand_like", "x")
    p = program("random tensors differ").that(tensor("x", 0, 0, 0), {"seed": 5}, draw)
    p.that({**draw, "let": "q"}, {"same": ["r", "q"], "is": False})
    p = program("a seed repeats the numbers").that(tensor("x", 0, 0, 0), {"seed": 5}, draw)
    p.that({"seed": 5}, {**draw, "let": "q"}, {"same": ["r", "q"], "is": True})
    p = program("a lazy random tensor keeps its numbers").that(
        tensor("x", 0, 0, 0), {"seed": 5}, draw
    )
    p.that(
        let("a", "add", "r", number=1),
        {**draw, "let": "q"},
        realize("q"),
        let("b", "add", "r", number=1),
    )
    p.that({"same": ["a", "b"], "is": True})
    p = program("each run draws the numbers that calls would draw").that(
        tensor("x", 0, 0, 0), {"seed": 5}
    )
    names = [f"r{i}" for i in range(4)]
    for name in names:
        p.that({**draw, "let": name}, realize(name))
    p.that(function("f", "a", do=[{**draw, "let": "y", "of": ["a"]}], returns=["y"]), {"seed": 5})
    for i, name in enumerate(names):
        p.that(tensor("x", 0, 0, 0), run("f", f"q{i}", "x"), {"same": [name, f"q{i}"], "is": True})
    p.that({"same": ["q2", "q3"], "is": False})

    p = program("numbers that change").that(tensor("x", 1, 2))
    for k in range(1, 14):
        p.that(
            let("y", "mul", "x", number=k / 4),
            let("z", "add", "y", number=k),
            expect("z", k / 4 + k, k / 2 + k),
        )

    p = program("a result that is held while the same is computed again").that(tensor("w", 1, 2))
    p.that(let("held", "mul", "w", number=2), realize("held"))
    p.that(function("f", "a", do=[let("y", "mul", "w", number=2)], returns=["y"]))
    for k in range(4):
        p.that(assign("w", k), tensor("x", 0), run("f", "r", "x"), expect("r", 2 * k, 2 * k))
        p.that(expect("held", 2, 4))
    p = program("two tensors that change places").that(tensor("p", 0), tensor("c", 1))
    do = [
        let("n", "add", "p", "c"),
        assign("p", "c"),
        assign("c", "n"),
        let("y", "mul", "n", number=1),
    ]
    p.that(function("f", "a", do=do, returns=["y"]))
    for value in (1, 2, 3, 5, 8):
        p.that(tensor("x", 0), run("f", "r", "x"), expect("r", value))
    for copy in ("clone", "contiguous"):
        p = program(f"a {copy} before a write").that(tensor("w", 1))
        do = [
            let("k", copy, "w"),
            let("n", "add", "w", number=1),
            assign("w", "n"),
            let("y", "mul", "k", number=1),
        ]
        p.that(function("f", "a", do=do, returns=["y"]))
        for value in (1, 2, 3, 4):
            p.that(tensor("x", 0), run("f", "r", "x"), expect("r", value), expect("w", value + 1))
    p = program("a view of an argument as a result")
    p.that(function("f", "a", do=[let("y", "flip", "a", axis=[0])], returns=["y"]))
    for k in range(4):
        p.that(tensor("x", k, 9), run("f", "r", "x"), expect("r", 9, k))
    p = program("a view of an argument that is written")
    do = [let("n", "add", "a", number=1), assign("a", "n"), let("y", "flip", "a", axis=[0])]
    p.that(function("f", "a", do=do, returns=["y"]))
    for k in range(4):
        p.that(
            tensor("x", k, 9), run("f", "r", "x"), expect("r", 10, k + 1), expect("x", k + 1, 10)
        )

    double = function("f", "a", do=[let("y", "mul", "a", number=2)], returns=["y"])
    read = [let("y", "mul", "a", number=2), {"read": "y"}]
    p = program("a value cannot be read while a function is traced")
    p.that(
        function("f", "a", do=read, returns=["y"]),
        tensor("x", 1, 2),
        run("f", "r", "x"),
        expect("r", 2, 4),
    )
    p.that(tensor("x", 1, 2), {"error": "needed while", "do": run("f", "r", "x")})
    p.that(let("z", "add", "x", number=1), expect("z", 2, 3))
    add = function("f", "a", "b", do=[let("y", "add", "a", "b")], returns=["y"])
    p = program("one tensor as two arguments").that(add)
    for _ in range(3):
        p.that(tensor("x", 1, 2), tensor("z", 3, 4), run("f", "r", "x", "z"), expect("r", 4, 6))
    p.that(
        {"error": "more than once", "do": run("f", "r", "x", "x")},
        run("f", "r", "z", "x"),
        expect("r", 4, 6),
    )
    for calls in (0, 1, 2):
        p = program(f"a function inside another one, called {calls} times before").that(double)
        for _ in range(calls):
            p.that(tensor("x", 1, 2), run("f", "r", "x"), expect("r", 2, 4))
        p.that(function("g", "b", do=[run("f", "y", "b")], returns=["y"]))
        p.that(tensor("x", 1, 2), run("g", "r", "x"), expect("r", 2, 4))
        p.that(tensor("x", 1, 2), {"error": "inside", "do": run("g", "r", "x")})
        p.that(tensor("x", 3, 4), run("f", "r", "x"), expect("r", 6, 8))
    return out


def second_order() -> list[Program]:
    """Gradients as tensors, and theirs."""
    out = []

    def program(name: str, *data: float) -> Program:
        p = Program("gradients of gradients", name).that(tensor("x", *data, grad=True))
        out.append(p)
        return p

    def expect(name: str, *values: float) -> Statement:
        shape = [len(values)]
        return {
            "expect": name,
            "shape": shape,
            "dtype": "float32",
            "values": list(map(float, values)),
            "tolerance": 1e-5,
        }

    def gradient(name: str, of: str, *targets: str) -> Statement:
        return {"gradients": of, "of": list(targets), "let": [name]}

    def cube(x: str, name: str) -> list[Statement]:
        return [let("s", "square", x), let("c", "mul", "s", x), let(name, "sum", "c")]

    p = program("of a sum of cubes", 1, -2).that(*cube("x", "y"), gradient("g", "y", "x"))
    p.that(expect("g", 3, 12), let("t", "sum", "g"), gradient("h", "t", "x"), expect("h", 6, -12))
    p.that(let("u", "sum", "h"), gradient("k", "u", "x"), expect("k", 6, 6))
    p = program("a penalty on a gradient", 1, -2).that(*cube("x", "y"), gradient("g", "y", "x"))
    p.that(let("q", "square", "g"), let("loss", "sum", "q"), {"backward": "loss"})
    p.that({"expect_grad": "x", "values": [36.0, -288.0]})
    p = program("of a product of two", 2, 3).that(
        tensor("w", 5, 7, grad=True), let("p", "mul", "x", "w")
    )
    p.that(
        let("q", "mul", "p", "x"),
        let("y", "sum", "q"),
        gradient("g", "y", "x"),
        expect("g", 20, 42),
    )
    p.that(let("t", "sum", "g"), {"gradients": "t", "of": ["x", "w"], "let": ["a", "b"]})
    p.that(expect("a", 10, 14), expect("b", 4, 6))
    p = program("a gradient that nothing stores", 1, 2).that(
        *cube("x", "y"), gradient("g", "y", "x")
    )
    p.that(expect("g", 3, 12), {"expect_grad": "x", "values": None})
    p = program("a gradient of what was written since", 1, 2).that(*cube("x", "y"))
    p.that(gradient("g", "y", "x"), assign("x", 0), expect("g", 3, 12))
    p = program("of what does not depend on it", 1, 2).that(
        tensor("z", 1, 2, grad=True), let("y", "sum", "z")
    )
    p.that({"error": "depend", "do": gradient("g", "y", "x")})
    return out


def mistakes() -> list[Program]:
    """What is wrong is an error, and changes nothing."""
    far = {"var": "far"}
    cases: list[tuple[str, str, Statement]] = [
        ("assigned a tensor of another shape", "broadcast", assign("x", "three")),
        ("assigned a tensor of another type", "int32", assign("x", "whole")),
        ("set out of range", "out of", put("x", [4], 1)),
        ("set by too many positions", "ind", put("x", [0, 0, 0], 1)),
        ("set to a tensor of another shape", "broadcast", put("x", [0], "four")),
        ("reshaped to another number of elements", "reshape", let("y", "reshape", "x", shape=[5])),
        ("permuted by axes that it has not", "permute", let("y", "permute", "x", order=[0, 2])),
        ("added to a tensor that does not broadcast", "broadcast", let("y", "add", "x", "four")),
        (
            "multiplied as a matrix by another one that does not fit",
            "matmul",
            let("y", "matmul", "x", "x"),
        ),
        ("summed along an axis that it has not", "range", let("y", "sum", "x", axis=2)),
        ("indexed beyond its end", "out of bounds", let("y", "getitem", "x", items=[far])),
        ("set beyond its end", "out of bounds", put("x", [far], 1)),
        ("told a class that there is not", "class", let("y", "cross_entropy", "x", "classes")),
        ("beside a class beyond those", "class", let("y", "one_hot", "classes", num_classes=4)),
    ]
    out = []
    for what, error, statement in cases:
        for lazy in (False, True):
            p = Program("mistakes", f"a {'lazy' if lazy else 'computed'} tensor is {what}").do(
                *start(lazy=lazy)
            )
            p.do(tensor("three", 1, 2, 3, 4, 5), tensor("four", 1, 2, 3, 4))
            p.do({"let": "whole", "data": [1, 2, 3], "shape": [3], "dtype": "int32"})
            # As part of a longer tensor: positions and classes come in batches.
            p.do({"let": "all", "data": [1, 9, 2, -9], "shape": [4], "dtype": "int32"})
            p.do(let("far", "getitem", "all", items=[{"slice": [0, 2, None]}]))
            p.do({"let": "classes", "data": [1, 2, 2, 9], "shape": [4], "dtype": "int32"})
            p.that({"error": error, "do": statement})
            out.append(p.expect("x"))
    return out


def main() -> None:
    """Write the file."""
    topics = [views, readers, hazards, gradients, second_order, compiled, traced, mistakes]
    programs = [p.json() for topic in topics for p in topic()] + functions.programs()
    names = [(p["topic"], p["name"]) for p in programs]
    assert len(set(names)) == len(names), "two programs have one name"
    lines = ",\n".join(json.dumps(p, separators=(",", ":")) for p in programs)
    PATH.write_text(f"[\n{lines}\n]\n")
    print(f"{len(programs)} programs")


if __name__ == "__main__":
    main()
