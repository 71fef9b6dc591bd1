"""Fills in the right sides of simplify.txt.

Run with tinygrad (commit c2be31e75b366638965337b96f2c66c2ba8c4068) on PYTHONPATH: python3 simplify.py
"""

from pathlib import Path

from tinygrad.dtype import dtypes
from tinygrad.uop.ops import AxisType, Ops, UOp, graph_rewrite
from tinygrad.uop.symbolic import sym

bounds = {"a": (0, 8), "b": (0, 3), "c": (0, 100), "s": (-10, 10), "t": (-5, 0), "n": (1, 8)}
env = {k: UOp.variable(k, *v) for k, v in bounds.items()}
env |= {f"r{i}": UOp.range(n, i, AxisType.LOOP) for i, n in enumerate([4, 12])}
env |= {k: UOp.variable(k, False, True, dtypes.bool) for k in "pq"}
env |= {k: UOp.variable(k, float("-inf"), float("inf"), dtypes.float) for k in "xyz"}
env |= {
    "max": UOp.maximum,
    "where": UOp.where,
    "no": UOp.logical_not,
    "eq": UOp.eq,
    "rcp": UOp.reciprocal,
    "trunc": UOp.trunc,
    "pow": lambda u, e: u.alu(Ops.POW, u.ufix(e)),
    "exp2": UOp.exp2,
    "i32": lambda u: u.cast(dtypes.int32),
    "i64": lambda u: u.cast(dtypes.int64),
    "f32": lambda u: u.cast(dtypes.float),
}


def show(u):
    """The notation of UOp.Render in Go."""
    sign = {
        Ops.ADD: "+",
        Ops.MUL: "*",
        Ops.IDIV: "//",
        Ops.MOD: "%",
        Ops.CMPLT: "<",
        Ops.CMPNE: "!=",
        Ops.AND: "&",
        Ops.OR: "|",
        Ops.XOR: "^",
        Ops.SHL: "<<",
        Ops.SHR: ">>",
    }
    if u.op is Ops.CONST:
        return {True: "true", False: "false"}[u.arg] if isinstance(u.arg, bool) else str(u.arg)
    if u.op is Ops.DEFINE_VAR:
        return u.arg[0]
    if u.op is Ops.RANGE:
        return f"r{u.arg[0]}"
    if u.op is Ops.WHERE:
        return f"({show(u.src[1])} if {show(u.src[0])} else {show(u.src[2])})"
    if u.op is Ops.CAST:
        return f"({str(u.dtype).removeprefix('dtypes.')})({show(u.src[0])})"
    if u.op in sign:
        return f"({show(u.src[0])}{sign[u.op]}{show(u.src[1])})"
    return f"{u.op.name.lower()}({', '.join(show(s) for s in u.src)})"


TABLE = Path("simplify.txt")
lines = []
for line in TABLE.read_text().splitlines():
    if line.strip() and not line.startswith("#"):
        left = line.split(" = ")[0].strip()
        table, text = (sym, left[5:]) if left.startswith("sym: ") else (None, left)
        u = eval(text, dict(env))
        line = f"{left} = {show(graph_rewrite(u, table) if table else u.simplify())}"
    lines.append(line)
TABLE.write_text("\n".join(lines) + "\n")
