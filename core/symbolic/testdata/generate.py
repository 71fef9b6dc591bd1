"""Writes random.json.gz: random index expressions and what tinygrad makes of them.

Run with tinygrad (commit c2be31e75b366638965337b96f2c66c2ba8c4068) on PYTHONPATH:
  python3 generate.py [seed]
A line is [function, nodes, indices of the arguments, result nodes or null].
"""

import gzip
import json
import random
import sys

from tinygrad.dtype import Invalid, dtypes
from tinygrad.helpers import cdiv  # noqa: F401  (the import shows at once that this is the right tinygrad)
from tinygrad.uop.divandmod import fold_divmod_general
from tinygrad.uop.ops import AxisType, Ops, UOp, graph_rewrite
from tinygrad.uop.symbolic import (
    canonicalize_simplex,
    drop_and_clauses,
    lt_folding,
    simplify_valid,
    sym,
    uop_given_valid,
    where_on_load,
)

rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)


def text(u):
    a = u.arg
    if a is None:
        return None
    if a is Invalid:
        return "Invalid"
    if isinstance(a, bool):
        return "true" if a else "false"
    if u.op is Ops.RANGE:
        return "_".join(str(x) for x in a[:-1]) + ":" + a[-1].name
    if u.op is Ops.DEFINE_VAR:
        return f"{a[0]}[{a[1]},{a[2]}]"
    if isinstance(a, tuple):
        return "(" + ",".join(str(x) for x in a) + ")"
    return str(a)


def dtype_text(d):
    return str(d).removeprefix("dtypes.")


def dump(*roots):
    at, rows = {}, []
    for root in roots:
        for u in root.toposort():
            if u not in at:
                at[u] = len(rows)
                rows.append(
                    [at[u], u.op.name, dtype_text(u.dtype), [at[s] for s in u.src], text(u)]
                )
    return rows, [at[r] for r in roots]


SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 64, 100]


def leaf():
    k = rng.random()
    if k < 0.65:
        i = rng.randrange(4)
        return UOp.range(SIZES[(i * 5 + rng.randrange(3)) % len(SIZES)], i, AxisType.LOOP)
    if k < 0.8:
        lo = rng.choice([0, 0, 0, 1, 1, -4, -10])
        return UOp.variable(rng.choice("ab"), lo, lo + rng.choice([1, 3, 7, 15]))
    return UOp.const(
        dtypes.index, rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 100, -1, -2, -3, -7, -8])
    )


def linear(depth):
    out = None
    for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
        t = expr(depth - 1) if depth > 0 and rng.random() < 0.4 else leaf()
        if rng.random() < 0.7:
            t = t * rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32, 64, -1, -1, -2, -3, -4])
        out = t if out is None else out + t
    if rng.random() < 0.5:
        out = out + rng.choice([1, 2, 3, 4, 7, 8, 12, 30, 64, 100, -1, -2, -3, -4, -8, -30])
    return out


def expr(depth):
    k = rng.random()
    if k < 0.25:
        return linear(depth) // denominator(depth)
    if k < 0.5:
        return linear(depth) % denominator(depth)
    if k < 0.55:
        return linear(depth) * leaf()
    if k < 0.6:
        return cond(depth).where(linear(depth), linear(depth))
    if k < 0.63:
        return linear(depth).maximum(linear(depth))
    return linear(depth)


def denominator(depth):
    if rng.random() < 0.85:
        return UOp.const(
            dtypes.index, rng.choice([2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 32, 64, 100, -2, -4, -3])
        )
    if rng.random() < 0.5:
        return UOp.variable("n", 1, rng.choice([4, 8, 16]))
    return UOp.variable("n", 1, 8) * rng.choice([2, 3, 4, 8])


def cond(depth):
    a = expr(depth - 1) if depth > 0 else linear(0)
    c = a < rng.choice([1, 1, 2, 3, 4, 5, 8, 10, 16, 64, 0, -1, -4])
    if rng.random() < 0.15:
        c = a.ne(rng.choice([0, 1, 2, 5]))
    return c.logical_not() if rng.random() < 0.5 else c


def conj(depth, simplified=True):
    out = cond(depth)
    for _ in range(rng.randrange(4)):
        out = out & cond(depth)
    return out.simplify() if simplified else out


def prepared(u):
    """The expression with its sources in simplest form, as a rule sees it."""
    return u.replace(src=tuple(s.simplify() for s in u.src))


out = []


def case(name, args, result):
    rows, roots = dump(*args)
    out.append([name, rows, roots, None if result is None else dump(result)[0]])


def attempt(f):
    try:
        return True, f()
    except (ZeroDivisionError, AssertionError, IndexError):
        return False, None


def count(name, n, make):
    made = 0
    while made < n:
        args, f = make()
        if args is None:
            continue
        ok, r = attempt(f)
        if ok:
            case(name, args, r)
            made += 1


def make_divmod():
    d = prepared(linear(2).alu(rng.choice([Ops.IDIV, Ops.MOD]), denominator(1)))
    return (
        ([d], lambda: fold_divmod_general(d, False))
        if d.op in (Ops.IDIV, Ops.MOD)
        else (None, None)
    )


def make_simplify():
    u = expr(3) if rng.random() < 0.7 else conj(2, False)
    return [u], u.simplify


def make_sym():
    u = conj(2, False).where(expr(2), UOp.invalid())
    return [u], lambda: graph_rewrite(u, sym)


def make_given():
    v, u = conj(1), expr(2).simplify()
    return (
        ([v, u], lambda: uop_given_valid(v, u))
        if v.op is not Ops.CONST and u.op is not Ops.CONST
        else (None, None)
    )


def make_given_plain():
    v, u = conj(1), expr(2).simplify()
    return ([v, u], lambda: uop_given_valid(v, u, False)) if v.op is not Ops.CONST else (None, None)


def make_valid():
    v = conj(1)
    return ([v], lambda: simplify_valid(v)) if v.op is Ops.AND else (None, None)


def make_drop():
    v, u, i = conj(1), expr(1).simplify(), UOp.invalid()
    return ([v, u, i], lambda: drop_and_clauses(v, u, i)) if v.op is not Ops.CONST else (None, None)


def make_load():
    v, u = conj(1), expr(1).simplify()
    buf = UOp(Ops.PARAM, dtypes.float.ptr(100), (), 0)
    if rng.random() < 0.6:
        u = u.valid(v if rng.random() < 0.3 else conj(0))
    return (
        ([v, buf, u], lambda: where_on_load(v, buf, u)) if v.op is not Ops.CONST else (None, None)
    )


def make_exact():
    u, v = linear(1).simplify(), denominator(1).simplify()
    if rng.random() < 0.4:
        u = (u * v).simplify()
    return [u, v], lambda: u.divide_exact(v)


def make_gcd():
    us = [linear(1).simplify() for _ in range(rng.choice([2, 3]))]
    return us, lambda: UOp.gcd(*us)


def make_lt():
    x, c = linear(1).simplify(), UOp.const(dtypes.index, rng.choice([1, 2, 3, 4, 8, 12, 64]))
    return [x, c], lambda: lt_folding(x, c.arg)


def make_simplex():
    x = linear(0).simplify()
    return [x], lambda: canonicalize_simplex(x)


for name, n, make in [
    ("divmod", 600, make_divmod),
    ("simplify", 500, make_simplify),
    ("sym", 200, make_sym),
    ("given", 200, make_given),
    ("given plain", 100, make_given_plain),
    ("valid", 300, make_valid),
    ("drop clauses", 50, make_drop),
    ("where on load", 100, make_load),
    ("divide exact", 100, make_exact),
    ("gcd", 50, make_gcd),
    ("lt", 100, make_lt),
    ("simplex", 100, make_simplex),
]:
    count(name, n, make)

body = "\n".join(json.dumps(r, separators=(",", ":")) for r in out)
with open("random.json.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
    z.write(body.encode())
