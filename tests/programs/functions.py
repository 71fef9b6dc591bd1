"""Programs of function transformations: their model, and what is in tests/programs.json.

A function is evaluated with float64. Derivatives are differences, batches and loops are loops here,
so that nothing is shared with what is tested.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

Statement = dict[str, Any]
Array = np.ndarray[Any, Any]
Function = Callable[..., list[Array]]

#: Operations, as functions of arrays.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "relu": lambda x: np.maximum(x, 0),
    "sin": np.sin,
    "tanh": np.tanh,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "square": lambda x: x * x,
    "sum": lambda x, axis=None: x.sum(axis),
    "max": lambda x, axis=None: x.max(axis),
    "matmul": lambda x, y: x @ y,
    "permute": lambda x, order: x.transpose(order),
    "cast": lambda x, dtype: x != 0 if dtype == "bool" else x,
}


def shifted(f: Callable[[Array], list[Array]], x: Array, along: Array) -> list[Array]:
    """Return the derivatives of results along a direction, by differences of order 6."""
    h = 0.01
    weights = {-3: -1 / 60, -2: 3 / 20, -1: -3 / 4, 1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    parts = [[w / h * y for y in f(x + k * h * along)] for k, w in weights.items()]
    return [sum(ys) for ys in zip(*parts)]  # type: ignore[misc]


def along_args(f: Function, args: tuple[Array, ...], tangents: tuple[Array, ...]) -> list[Array]:
    """Return the tangents of results."""
    total: list[Array] | None = None
    for i, t in enumerate(tangents):
        part = shifted(lambda x, i=i: f(*args[:i], x, *args[i + 1 :]), args[i], t)  # type: ignore[misc]
        total = part if total is None else [a + b for a, b in zip(total, part)]
    return total or []


def units(x: Array) -> list[Array]:
    """Return the directions of the elements of an array."""
    return [np.eye(x.size)[k].reshape(x.shape) for k in range(x.size)]


def jacobians(f: Function, of: list[int]) -> Function:
    """Return the function of the derivatives of each result by each argument."""

    def derived(*args: Array) -> list[Array]:
        results = f(*args)
        columns = {
            i: [
                shifted(lambda x, i=i: f(*args[:i], x, *args[i + 1 :]), args[i], u)  # type: ignore[misc]
                for u in units(args[i])
            ]
            for i in of
        }
        return [
            np.stack([c[k] for c in columns[i]], -1).reshape(y.shape + args[i].shape)
            for k, y in enumerate(results)
            for i in of
        ]

    return derived


def mapped(f: Function, axes: list[int | None], out: list[int]) -> Function:
    """Return a function of batches."""

    def batched(*args: Array) -> list[Array]:
        n = next(x.shape[a] for x, a in zip(args, axes) if a is not None)
        rows = [
            f(*(x if a is None else x.take(j, a) for x, a in zip(args, axes))) for j in range(n)
        ]
        return [np.stack(ys, a) for ys, a in zip(zip(*rows), out)]

    return batched


def transformed(f: Function, how: Statement) -> Function:
    """Return a transformation of a function."""
    if "grad" in how:
        return jacobians(lambda *xs: f(*xs)[:1], how["grad"])
    if "jacfwd" in how or "jacrev" in how:
        return jacobians(f, how.get("jacfwd", how.get("jacrev")))
    if "hessian" in how:
        return jacobians(jacobians(f, how["hessian"]), how["hessian"])
    if "vmap" in how:
        return mapped(f, how["vmap"], how["out"])
    if "jvp" in how:
        n = how["jvp"]
        return lambda *xs: [*f(*xs[:n]), *along_args(f, xs[:n], xs[n:])]
    if "vjp" in how:
        n = how["vjp"]

        def pulled(*xs: Array) -> list[Array]:
            def total(*args: Array) -> list[Array]:
                return [np.asarray(sum((y * c).sum() for y, c in zip(f(*args), xs[n:])))]

            return jacobians(total, list(range(n)))(*xs[:n])

        return pulled
    return f  # checkpoint


class Model:
    """The variables and functions of a program, with float64."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables

    def run(self, s: Statement) -> None:
        """Run a statement."""
        v = self.variables
        if "function" in s:
            v[s["function"]] = self.function(s)
        elif "run" in s:
            v.update(zip(s["let"], v[s["run"]](*(v[name] for name in s["with"]))))
        elif "control" in s:
            v.update(zip(s["let"], self.control(s)))
        elif "data" in s:
            v[s["let"]] = np.array(s["data"], "float64").reshape(s["shape"])
        else:
            operands = [v[name] for name in s["of"]] + ([s["with"]] if "with" in s else [])
            v[s["let"]] = np.asarray(OPERATIONS[s["op"]](*operands, **s.get("args", {})))

    def function(self, s: Statement) -> Function:
        """Return a function of arrays."""

        def body(*args: Array) -> list[Array]:
            inner = Model({**self.variables, **dict(zip(s["params"], args))})
            for statement in s["do"]:
                inner.run(statement)
            return [inner.variables[name] for name in s["returns"]]

        f: Function = body
        for how in s["as"]:
            f = transformed(f, how)
        return f

    def control(self, s: Statement) -> list[Array]:
        """Return the results of a loop or a branch."""
        v = self.variables
        fs = [v[name] for name in s["functions"]]
        carry = [v[name] for name in s.get("carry", [])]
        over = [v[name] for name in s.get("over", [])]
        if s["control"] in ("cond", "switch"):
            index = int(v[s["on"]])
            first = 1 - index if s["control"] == "cond" else min(max(index, 0), len(fs) - 1)
            return list(fs[first](*(v[name] for name in s["with"])))
        if s["control"] == "while_loop":
            while fs[0](*carry)[0]:
                carry = fs[1](*carry)
            return carry
        if s["control"] == "fori_loop":
            for i in range(*s["between"]):
                carry = fs[0](np.float64(i), *carry)
            return carry
        places = range(len(over[0]))
        order = reversed(places) if s.get("reverse") else places
        kept: dict[int, list[Array]] = {}
        for i in order:
            row = [x[i] for x in over]
            if s["control"] == "associative_scan":
                carry = fs[0](*carry, *row) if kept else row
                kept[i] = carry
            else:
                found = fs[0](*carry, *row)
                carry, kept[i] = found[: len(carry)], found[len(carry) :]
        stacked = [np.stack(ys) for ys in zip(*(kept[i] for i in places))]
        return stacked if s["control"] == "associative_scan" else [*carry, *stacked]


def function(name: str, params: str, do: list[Statement], returns: str, *how: Any) -> Statement:
    """Return a statement that makes a function of tensors."""
    head = {"function": name, "params": params.split(), "do": do}
    return {**head, "returns": returns.split(), "as": list(how)}


def control(name: str, functions: str, result: str, **more: Any) -> Statement:
    """Return a statement of a loop or a branch."""
    lists = {k: v.split() if k in ("carry", "over", "with") else v for k, v in more.items()}
    return {"control": name, "functions": functions.split(), **lists, "let": result.split()}


def op(result: str, name: str, of: str, number: float | None = None, **args: Any) -> Statement:
    """Return a call of an operation."""
    s: Statement = {"let": result, "op": name, "of": of.split()}
    if number is not None:
        s["with"] = number
    return {**s, "args": args} if args else s


def run(f: str, args: str, result: str) -> Statement:
    """Return a call of a function."""
    return {"run": f, "with": args.split(), "let": result.split()}


def positive(x: str, least: float) -> list[Statement]:
    """Return statements of p, whether a tensor is greater than a number."""
    return [
        op("e", "sub", x, number=least),
        op("r", "relu", "e"),
        op("p", "cast", "r", dtype="bool"),
    ]


X = np.array([0.5, -0.25, 1.5])
W = np.array([[0.5, -0.25, 0.75], [0.25, 1.0, -0.5], [-0.75, 0.5, 0.25]])
SEQUENCE = np.array([[0.5, -0.25, 1.0], [1.5, 0.25, -0.5], [-1.0, 0.75, 0.5], [0.25, 0.5, -0.75]])
PRODUCT = function("g", "a b", [op("p", "mul", "a b")], "p")

#: Functions of tensors: parameters, example arguments, statements, results.
BASES: dict[str, tuple[str, list[Array], list[Statement], str]] = {
    "a cubic form": (
        "x w",
        [X, W],
        [
            op("s", "square", "x"),
            op("p", "matmul", "w x"),
            op("q", "mul", "s p"),
            op("y", "sum", "q"),
        ],
        "y",
    ),
    "a layer": ("x w", [X, W], [op("z", "matmul", "w x"), op("y", "tanh", "z")], "y"),
    "a layer that is checkpointed": (
        "x w",
        [X, W],
        [
            function(
                "g",
                "a",
                [op("z", "matmul", "w a"), op("t", "tanh", "z")],
                "t",
                {"checkpoint": "nothing_saveable"},
            ),
            run("g", "x", "u"),
            run("g", "u", "v"),
            op("q", "square", "v"),
            op("y", "sum", "q"),
        ],
        "y",
    ),
    "a recurrence": (
        "h xs w",
        [X, SEQUENCE, W],
        [
            function(
                "g",
                "c x",
                [
                    op("z", "matmul", "w c"),
                    op("s", "add", "z x"),
                    op("t", "tanh", "s"),
                    op("k", "square", "t"),
                ],
                "t k",
            ),
            control("scan", "g", "last all", carry="h", over="xs"),
            op("q", "sum", "all"),
            op("r", "sum", "last"),
            op("y", "add", "q r"),
        ],
        "y",
    ),
    "a recurrence from the end": (
        "h xs",
        [X, SEQUENCE],
        [
            function(
                "g",
                "c x",
                [op("z", "mul", "c x"), op("t", "sin", "z"), op("k", "add", "t x")],
                "k t",
            ),
            control("scan", "g", "last all", carry="h", over="xs", reverse=True),
        ],
        "last all",
    ),
    "a loop over numbers": (
        "x",
        [X],
        [
            function(
                "g",
                "i c",
                [
                    op("f", "cast", "i", dtype="float32"),
                    op("z", "mul", "c x"),
                    op("t", "add", "z f"),
                    op("u", "sin", "t"),
                ],
                "u",
            ),
            control("fori_loop", "g", "y", carry="x", between=[1, 5]),
        ],
        "y",
    ),
    "Newton's method": (
        "a",
        [np.array([2.0, 3.0, 5.0])],
        [
            op("begin", "mul", "a", number=0.5),
            op("far", "add", "a", number=1),
            function("more", "x e", [op("m", "max", "e"), *positive("m", 0.0001)], "p"),
            function(
                "g",
                "x e",
                [
                    op("q", "div", "a x"),
                    op("s", "add", "x q"),
                    op("n", "mul", "s", number=0.5),
                    op("d", "sub", "n x"),
                    op("b", "abs", "d"),
                ],
                "n b",
            ),
            control("while_loop", "more g", "root e", carry="begin far"),
        ],
        "root",
    ),
    "a branch": (
        "x w",
        [X, W],
        [
            op("s", "sum", "x"),
            *positive("s", 0),
            function("f", "a", [op("z", "matmul", "w a"), op("t", "tanh", "z")], "t"),
            function("g", "a", [op("t", "sin", "a")], "t"),
            control("cond", "f g", "u", on="p", **{"with": "x"}),
            op("q", "square", "u"),
            op("y", "sum", "q"),
        ],
        "y",
    ),
    "one of three functions": (
        "k x",
        [np.array([-0.5, 0.5, 2.5]), X],
        [
            op("s", "max", "k"),
            op("i", "cast", "s", dtype="int32"),
            function("f", "a", [op("t", "sin", "a")], "t"),
            function("g", "a", [op("t", "square", "a")], "t"),
            function("h", "a", [op("t", "exp", "a")], "t"),
            control("switch", "f g h", "u", on="i", **{"with": "x"}),
            op("y", "sum", "u"),
        ],
        "y",
    ),
    "a map": (
        "xs w",
        [SEQUENCE, W],
        [
            function(
                "g",
                "x",
                [
                    op("z", "matmul", "w x"),
                    op("t", "sin", "z"),
                    op("u", "mul", "t x"),
                    op("s", "sum", "u"),
                ],
                "s",
            ),
            control("map", "g", "all", over="xs"),
        ],
        "all",
    ),
    "products of all before": (
        "xs",
        [SEQUENCE + 1.5],
        [PRODUCT, control("associative_scan", "g", "all", over="xs"), op("y", "sum", "all")],
        "y",
    ),
    "products of all behind": (
        "xs",
        [SEQUENCE + 1.5],
        [PRODUCT, control("associative_scan", "g", "all", over="xs", reverse=True)],
        "all",
    ),
    "steps of a gradient in a loop": (
        "x w",
        [X, W],
        [
            function(
                "g",
                "a",
                [
                    op("z", "matmul", "w a"),
                    op("t", "tanh", "z"),
                    op("q", "square", "t"),
                    op("s", "sum", "q"),
                ],
                "s",
                {"grad": [0]},
            ),
            function(
                "step",
                "i c",
                [run("g", "c", "d"), op("e", "mul", "d", number=0.5), op("n", "sub", "c e")],
                "n",
            ),
            control("fori_loop", "step", "last", carry="x", between=[0, 3]),
            op("q", "square", "last"),
            op("y", "sum", "q"),
        ],
        "y",
    ),
    "a loop of branches": (
        "x xs",
        [X, SEQUENCE],
        [
            function("f", "a b", [op("z", "mul", "a b"), op("t", "tanh", "z")], "t"),
            function("g", "a b", [op("z", "add", "a b"), op("t", "sin", "z")], "t"),
            function(
                "step",
                "c e",
                [
                    op("s", "sum", "e"),
                    *positive("s", 0.625),
                    control("cond", "f g", "n", on="p", **{"with": "c e"}),
                ],
                "n n",
            ),
            control("scan", "step", "last all", carry="x", over="xs"),
            op("y", "sum", "all"),
        ],
        "y",
    ),
}

GRAD, JVP, VJP = "grad", "jvp", "vjp"
#: Of scalars of two arguments, from the innermost transformation.
SCALAR = [
    [GRAD],
    [JVP],
    ["vmap"],
    [GRAD, "vmap"],
    [GRAD, JVP],
    ["hessian"],
    ["jacrev", "jacfwd"],
    ["jvp", "vmap"],
]
VECTOR = [
    [JVP],
    [VJP],
    ["jacfwd"],
    ["jacrev"],
    ["vmap"],
    ["jacfwd", "vmap"],
    ["vmap", JVP],
    [VJP, "vmap"],
    ["jacrev", "jacfwd"],
]
FORWARD = [[], [JVP], ["jacfwd"], ["vmap"], ["vmap", JVP], ["jacfwd", "jacfwd"]]
CHAINS = {
    "a cubic form": [
        *SCALAR,
        ["vmap", "vmap"],
        ["hessian", "vmap"],
        [GRAD, "jacfwd", "vmap"],
        [GRAD, "checkpoint", JVP],
    ],
    "a layer": VECTOR,
    "Newton's method": FORWARD,
    "a recurrence from the end": [[], *VECTOR[:6]],
    "a loop over numbers": VECTOR,
    "a map": VECTOR[:6],
    "products of all behind": VECTOR[:5],
}
BATCH = 2
NAMES = {
    "vmap": "batch",
    "hessian": "Hessian",
    "grad": "gradient",
    "vjp": "pullback",
    "jvp": "tangent",
}


class Chain:
    """A base function, transformed, with arguments."""

    def __init__(self, base: str) -> None:
        self.base = base
        params, args, do, returns = BASES[base]
        self.args = list(args)
        self.how: list[Statement] = []
        self.statement = function("transformed", params, do, returns)
        self.derived = False

    def model(self) -> Function:
        return Model({}).function({**self.statement, "as": self.how})

    def add(self, kind: str) -> None:
        """Add a transformation, and what it changes of the arguments."""
        n = len(self.args)
        if kind == "vmap":
            out = [0] * len(self.model()(*self.args))
            # The first argument is batched, others in turn; axes alternate.
            axes = [i % min(2, x.ndim + 1) if i % 3 != 1 else None for i, x in enumerate(self.args)]
            self.args = [
                x if a is None else np.stack([x, 0.5 * x + 0.25], a)
                for x, a in zip(self.args, axes)
            ]
            self.how.append({"vmap": axes, "out": out})
        elif kind == "checkpoint":
            self.how.append({"checkpoint": "dots_saveable"})
        elif kind == JVP:
            self.args += [0.5 * x[..., ::-1] + 0.125 for x in self.args]
            self.how.append({JVP: n})
        elif kind == VJP:
            found = self.model()(*self.args)
            self.args += [np.full(y.shape, 0.5) + 0.25 * k for k, y in enumerate(found)]
            self.how.append({VJP: n})
        else:
            many = kind == GRAD and n > 1 and not self.how
            self.how.append({kind: [0, 1] if many else [0]})


def program(base: str, kinds: list[str]) -> dict[str, Any]:
    """Return a program of a transformed function."""
    chain = Chain(base)
    for kind in kinds:
        chain.add(kind)
    names = [f"arg{i}" for i in range(len(chain.args))]
    do: list[Statement] = []
    for name, x in zip(names, chain.args):
        do.append(
            {
                "let": name,
                "data": x.reshape(-1).tolist(),
                "shape": list(x.shape),
                "dtype": "float32",
            }
        )
    results = chain.model()(*chain.args)
    out = [f"out{i}" for i in range(len(results))]
    do.append({**chain.statement, "as": chain.how})
    do.append({"run": "transformed", "with": names, "let": out})
    for name, y in zip(out, results):
        values = [float(f"{v:.8g}") for v in np.asarray(y).reshape(-1)]
        do.append(
            {
                "expect": name,
                "shape": list(np.shape(y)),
                "dtype": "float32",
                "values": values,
                "tolerance": 2e-5,
            }
        )
    title = " of the ".join(NAMES.get(k, k) for k in reversed(kinds)) or "the value"
    return {"topic": "functions of functions", "name": f"{title} of {base}", "do": do}


def vector(name: str, *data: float, dtype: str = "float32") -> Statement:
    """Return a statement that makes a vector."""
    return {"let": name, "data": list(data), "shape": [len(data)], "dtype": dtype}


def expect(name: str, *values: float) -> Statement:
    """Return a statement about a vector."""
    return {"expect": name, "shape": [len(values)], "dtype": "float32", "values": list(values)}


def rules() -> list[dict[str, Any]]:
    """Return programs of derivatives by rules, of constants, and of axes with names."""
    x, y = (
        vector("x", 1, -2, 3),
        function("loss", "a", [run("f", "a", "b"), op("c", "sum", "b")], "c", {"grad": [0]}),
    )
    cube = [op("s", "square", "a"), op("y", "mul", "s a")]
    tangent = function("rule", "a t", [op("y", "mul", "t", number=7)], "y")
    forward = function("forward", "a", [*cube, op("k", "mul", "a", number=2)], "y k")
    backward = function("backward", "k g", [op("y", "mul", "k g")], "y")
    cases: list[tuple[str, list[Statement]]] = [
        (
            "a gradient by a rule for tangents",
            [
                tangent,
                function("f", "a", cube, "y", {"custom_jvp": "rule"}),
                y,
                run("loss", "x", "g"),
                expect("g", 7, 7, 7),
            ],
        ),
        (
            "a gradient by rules for gradients",
            [
                *(
                    forward,
                    backward,
                    function("f", "a", cube, "y", {"custom_vjp": ["forward", "backward"]}),
                    y,
                ),
                *(
                    run("loss", "x", "g"),
                    expect("g", 2, -4, 6),
                    run("f", "x", "v"),
                    expect("v", 1, -8, 27),
                ),
            ],
        ),
        (
            "a gradient through a constant",
            [
                function("f", "a", [op("k", "detach", "a"), op("y", "mul", "k a")], "y"),
                *(y, run("loss", "x", "g"), expect("g", 1, -2, 3)),
            ],
        ),
        (
            "a gradient in a compiled function",
            [
                function("f", "a", cube, "y"),
                y,
                {
                    "function": "fast",
                    "params": ["a"],
                    "do": [run("loss", "a", "y")],
                    "returns": ["y"],
                },
                *(run("fast", "x", "g"), expect("g", 3, 12, 27), vector("z", 2, 1, 0)),
                *(
                    run("fast", "z", "g"),
                    expect("g", 12, 3, 0),
                    run("fast", "x", "g"),
                    expect("g", 3, 12, 27),
                ),
            ],
        ),
        (
            "shares of a sum over a batch",
            [
                function(
                    "f",
                    "a",
                    [
                        {"let": "s", "along": "psum", "axis": "batch", "of": ["a"]},
                        op("y", "div", "a s"),
                    ],
                    "y",
                    {"vmap": [0], "out": [0], "name": "batch"},
                ),
                *(run("f", "x", "y"), expect("y", 0.5, -1, 1.5)),
                function(
                    "loss",
                    "a",
                    [run("f", "a", "b"), op("q", "square", "b"), op("c", "sum", "q")],
                    "c",
                    {"grad": [0]},
                ),
                *(run("loss", "x", "g"), expect("g", -3, -4.5, -2)),
            ],
        ),
    ]
    topic = "functions by rules"
    return [{"topic": topic, "name": name, "do": [x, *do]} for name, do in cases]


def mistakes() -> list[dict[str, Any]]:
    """Return programs of what no transformation takes: an error, and everything is as before."""
    total = function("f", "a", [op("y", "sum", "a")], "y")
    same = function("f", "a", [op("y", "mul", "a", number=2)], "y")

    def of(*how: Statement, do: list[Statement] | None = None, params: str = "a") -> Statement:
        return function("f", params, do or [op("y", "mul", "a", number=2)], "y", *how)

    call = run("f", "x", "y")
    cases: list[tuple[str, str, list[Statement], Statement]] = [
        (
            "an element is read in a function that is traced",
            "trac",
            [of({"grad": [0]}, do=[{"read": "a"}, op("y", "sum", "a")])],
            call,
        ),
        (
            "a tensor from outside is written in a function that is traced",
            "trac",
            [of({"grad": [0]}, do=[{"assign": "x", "value": {"var": "a"}}, op("y", "sum", "a")])],
            call,
        ),
        ("a gradient of a vector", "scalar", [of({"grad": [0]})], call),
        (
            "a gradient by integers",
            "int32",
            [of({"grad": [0]}, do=[op("y", "sum", "a")])],
            run("f", "whole", "y"),
        ),
        ("a batch along an axis that is not there", "ax", [of({"vmap": [1], "out": [0]})], call),
        (
            "a batch of two sizes",
            "2",
            [of({"vmap": [0, 0], "out": [0]}, params="a b", do=[op("y", "mul", "a b")])],
            run("f", "x two", "y"),
        ),
        ("a tangent of another shape", "shape", [of({"jvp": 1})], run("f", "x two", "y z")),
        ("a cotangent of another shape", "shape", [of({"vjp": 1})], run("f", "x two", "y")),
        (
            "a carry of another shape after a step",
            "shape",
            [function("g", "c e", [op("s", "sum", "c")], "s")],
            control("scan", "g", "last", carry="x", over="matrix"),
        ),
        (
            "a carry of another type after a step",
            "int32",
            [function("g", "c e", [op("s", "cast", "c", dtype="int32")], "s")],
            control("scan", "g", "last", carry="x", over="matrix"),
        ),
        (
            "sequences of different lengths",
            "2",
            [function("g", "c e f", [op("s", "add", "c c")], "s")],
            control("scan", "g", "last", carry="x", over="x two"),
        ),
        (
            "a condition of a loop that is a vector",
            "shape",
            [
                function("more", "c", [*positive("c", 0)], "p"),
                function("g", "c", [op("s", "mul", "c", number=0.5)], "s"),
            ],
            control("while_loop", "more g", "last", carry="x"),
        ),
        (
            "branches of different shapes",
            "shape",
            [
                op("s", "sum", "x"),
                *positive("s", 0),
                total,
                function("g", "a", [op("y", "square", "a")], "y"),
            ],
            control("cond", "f g", "y", on="p", **{"with": "x"}),
        ),
        (
            "a sum over a batch that is not there",
            "batch",
            [
                of(
                    {"vmap": [0], "out": [0]},
                    do=[{"let": "y", "along": "psum", "axis": "batch", "of": ["a"]}],
                )
            ],
            call,
        ),
        ("a policy of checkpoints that is not there", "policy", [of({"checkpoint": "some"})], call),
    ]
    begin = [
        vector("x", 1, -2, 3),
        vector("two", 1, 2),
        vector("whole", 1, 2, 3, dtype="int32"),
        {"let": "matrix", "data": [1, 2, 3, 4, 5, 6], "shape": [2, 3], "dtype": "float32"},
    ]
    after = [expect("x", 1, -2, 3), same, call, expect("y", 2, -4, 6)]
    topic = "mistakes in functions of functions"
    return [
        {
            "topic": topic,
            "name": name,
            "do": [*begin, *do, {"error": error, "do": statement}, *after],
        }
        for name, error, do, statement in cases
    ]


def programs() -> list[dict[str, Any]]:
    """Return all programs of function transformations."""
    chains = [(base, kinds) for base in BASES for kinds in CHAINS.get(base, SCALAR[:-1])]
    return [*(program(*chain) for chain in chains), *rules(), *mistakes()]
