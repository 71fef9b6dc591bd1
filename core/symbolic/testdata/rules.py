"""Writes rules.json.gz: for every rule of tinygrad's tables, random graphs that match its pattern, and what it answers.

Run with tinygrad (commit c2be31e75b366638965337b96f2c66c2ba8c4068) on PYTHONPATH:
  python3 rules.py [seed]
A line is [table, number of the rule in the table, nodes, result nodes or null]; rule -1 is the whole table, -2 the
table applied to the whole graph.
"""

import gzip
import itertools
import json
import random
import sys

from tinygrad.dtype import Invalid, dtypes
from tinygrad.uop.divandmod import div_and_mod_symbolic
from tinygrad.uop.ops import (
    AxisType,
    GroupOp,
    Ops,
    PatternMatcher,
    UOp,
    graph_rewrite,
    pm_lower_index_dtype,
)
from tinygrad.uop.symbolic import (
    commutative,
    gep_pushing,
    pm_drop_and_clauses,
    pm_move_where_on_load,
    pm_simplify_valid,
    propagate_invalid,
    sym,
    symbolic,
    symbolic_simple,
)

rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)


def own(table, *others):
    """The patterns of a table without those of the tables it begins and ends with."""
    known = {id(p) for o in others for p, _ in o.patterns}
    return [(p, f) for p, f in table.patterns if id(p) not in known]


TABLES = {
    "PropagateInvalid": propagate_invalid.patterns,
    "simpleRules": own(symbolic_simple, propagate_invalid),
    "Commutative": commutative.patterns,
    "symbolicRules": own(symbolic, symbolic_simple, commutative, div_and_mod_symbolic, gep_pushing),
    "divmodRules": div_and_mod_symbolic.patterns,
    "GepPushing": gep_pushing.patterns,
    "SimplifyValid": pm_simplify_valid.patterns,
    "DropAndClauses": pm_drop_and_clauses.patterns,
    "MoveWhereOnLoad": pm_move_where_on_load.patterns,
    "symRules": own(sym, symbolic, pm_simplify_valid),
    "LowerIndexDType": pm_lower_index_dtype.patterns,
}
WHOLE = {"MoveWhereOnLoad": sym + pm_move_where_on_load, "LowerIndexDType": pm_lower_index_dtype}


def scalar_text(a):
    if a is Invalid:
        return "Invalid"
    if isinstance(a, bool):
        return "true" if a else "false"
    return str(a)


def text(u):
    a = u.arg
    if a is None:
        return None
    if u.op is Ops.RANGE:
        return "_".join(str(x) for x in a[:-1]) + ":" + a[-1].name
    if u.op is Ops.DEFINE_VAR:
        return f"{a[0]}[{scalar_text(a[1])},{scalar_text(a[2])}]"
    if isinstance(a, Ops):
        return a.name
    if isinstance(a, tuple):
        return "(" + ",".join(scalar_text(x) for x in a) + ")"
    return scalar_text(a)


def dump(root):
    at, rows = {}, []
    for u in root.toposort():
        at[u] = len(rows)
        rows.append(
            [
                at[u],
                u.op.name,
                str(u.dtype).removeprefix("dtypes."),
                [at[s] for s in u.src],
                text(u),
            ]
        )
    return rows


SCALARS = [
    dtypes.index,
    dtypes.index,
    dtypes.index,
    dtypes.int,
    dtypes.float,
    dtypes.float,
    dtypes.bool,
    dtypes.long,
    dtypes.uint,
    dtypes.uint64,
    dtypes.uchar,
    dtypes.half,
    dtypes.double,
    dtypes.short,
]


def number(dt):
    if dtypes.is_bool(dt):
        return rng.random() < 0.5
    if dtypes.is_float(dt):
        return rng.choice(
            [0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.0, 1.5, -0.0, 4.0, 0.1]
            + [float("inf"), float("nan")] * (rng.random() < 0.2)
        )
    n = rng.choice(
        [0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 255, -1, -1, -2, -3, -8, 2**31, 2**33]
    )
    return abs(n) % 128 if dtypes.is_unsigned(dt) else n


def const(dt):
    if dt.count == 1 or rng.random() < 0.4:
        return UOp.const(dt, number(dt))
    return UOp.const(dt, tuple(number(dt.scalar()) for _ in range(dt.count)))


def leaf(dt, depth=1):
    if dt is dtypes.void:
        return UOp(Ops.NOOP)
    if isinstance(dt, type(dtypes.float.ptr())):
        return UOp(Ops.PARAM, dt, (), 0)
    k = rng.random()
    if dt.count > 1:
        if k < 0.25:
            return const(dt)
        if k < 0.5:
            return leaf(dt.scalar()).broadcast(dt.count)
        return UOp(Ops.VECTORIZE, dt, tuple(leaf(dt.scalar(), 0) for _ in range(dt.count)))
    if k < 0.2:
        return const(dt)
    if depth and k < 0.5:
        if dt is dtypes.bool:
            a = leaf(dtypes.index, depth - 1)
            return rng.choice(
                [
                    lambda: a < rng.choice([0, 1, 2, 4, 8]),
                    lambda: a.ne(rng.choice([0, 3])),
                    lambda: (a < 3).logical_not(),
                    lambda: leaf(dt, 0) & leaf(dt, 0),
                ]
            )()
        op = rng.choice(
            [Ops.ADD, Ops.MUL, Ops.MAX, Ops.WHERE] + [Ops.IDIV, Ops.MOD] * dtypes.is_int(dt)
        )
        a, b = leaf(dt, depth - 1), leaf(dt, depth - 1)
        return leaf(dtypes.bool, 0).where(a, b) if op is Ops.WHERE else a.alu(op, b)
    if dt is dtypes.index:
        if k < 0.85:
            return UOp.range(rng.choice([1, 2, 3, 4, 8, 16, 100]), rng.randrange(4), AxisType.LOOP)
        lo = rng.choice([0, 0, 1, -4, -20])
        return UOp.variable(rng.choice("ab"), lo, lo + rng.choice([0, 1, 7, 19]))
    if dtypes.is_int(dt) and k < 0.75:
        lo = rng.choice([0, 0, 1] + [-5, -9] * (not dtypes.is_unsigned(dt)))
        return UOp.variable(rng.choice("xyz"), lo, lo + rng.choice([1, 6, 9]), dt)
    return UOp(Ops.PARAM, dt.ptr(16), (), rng.randrange(3)).index(
        UOp.range(4, rng.randrange(4), AxisType.LOOP)
    )


def sources(op, dt):
    """Sources of a node whose pattern does not say what they are."""
    if op in GroupOp.Comparison:
        t = rng.choice(SCALARS).vec(dt.count)
        return (leaf(t), leaf(t)), dtypes.bool.vec(dt.count)
    if op is Ops.WHERE:
        return (leaf(dtypes.bool.vec(dt.count)), leaf(dt), leaf(dt)), dt
    if op in GroupOp.ALU:
        n = 1 if op in GroupOp.Unary else 3 if op in GroupOp.Ternary else 2
        return tuple(leaf(dt) for _ in range(n)), dt
    if op in (Ops.CAST, Ops.BITCAST):
        return (leaf(rng.choice(SCALARS).vec(dt.count)),), dt
    if op is Ops.GEP:
        return (leaf(dt.scalar().vec(4)),), dt
    if op is Ops.VECTORIZE:
        return tuple(leaf(dt.scalar()) for _ in range(dt.count)), dt
    if op is Ops.CAT:
        return tuple(leaf(dt.scalar().vec(dt.count // 2)) for _ in range(2)), dt
    if op in (Ops.SINK, Ops.GROUP, Ops.NOOP):
        kinds = [
            UOp(Ops.NOOP),
            leaf(dtypes.float.vec(2)),
            leaf(dtypes.index),
            leaf(dtypes.index).cast(dtypes.index),
            leaf(dtypes.int).cast(dtypes.index),
            leaf(dtypes.int).cast(dtypes.index),
        ]
        return tuple(rng.choice(kinds) for _ in range(rng.randrange(1, 4))), dtypes.void
    if op is Ops.END:
        return (
            rng.choice([leaf(dtypes.float), leaf(dtypes.int).cast(dtypes.index)]),
            leaf(dtypes.int).cast(dtypes.index),
        ), dtypes.void
    if op is Ops.AFTER:
        return (leaf(dt), UOp(Ops.NOOP, dtypes.void, (leaf(dtypes.float),)), leaf(dtypes.index)), dt
    if op is Ops.INDEX:
        buf = UOp(Ops.PARAM, dt.base.ptr(16), (), rng.randrange(3))
        return (buf, leaf(dtypes.index)), dt
    if op is Ops.RANGE:
        return (leaf(dtypes.index, 0),), dt
    return (), dt


def arg_of(p, op, dt, src):
    if p.arg is not None:
        return dtypes.as_const(p.arg, dt) if op is Ops.CONST else p.arg
    if op is Ops.CONST:
        return dtypes.as_const(number(dt), dt)
    if op is Ops.VCONST:
        return dtypes.as_const(tuple(number(dt.scalar()) for _ in range(dt.count)), dt)
    if op is Ops.GEP:
        n = src[0].dtype.count
        if rng.random() < 0.3 and dt.count == n:
            return tuple(range(n))
        return tuple(rng.randrange(n) for _ in range(dt.count))
    if op is Ops.RANGE:
        return (rng.randrange(4), AxisType.LOOP)
    if op is Ops.DEFINE_VAR:
        return ("v", 0, rng.choice([0, 5, 2**33]))
    if op is Ops.SPECIAL:
        return "gidx0"
    if op is Ops.REDUCE:
        return rng.choice([Ops.ADD, Ops.MAX, Ops.MUL])
    return None


def instance(p, env, dt):
    if p.is_any:
        return instance(rng.choice(p.src[0]), env, dt)
    if p.name in env:
        return env[p.name]
    if p.match_dtype is not None:
        want = rng.choice(p.match_dtype)
        dt = want.vec(dt.count) if dt.scalar() != dt or want is dtypes.void else want
    if p.op is None:
        u = leaf(dt)
    else:
        op = rng.choice(p.op)
        if op is Ops.VCONST and dt.count == 1:
            op = Ops.CONST
        u = build(p, op, env, dt)
    if p.name is not None:
        env[p.name] = u
    return u


def build(p, op, env, dt):
    if p.src is None:
        src, dt = sources(op, dt)
        return UOp(op, dt, src, arg_of(p, op, dt, src))
    choice = rng.choice(p.src)
    pats = (
        list(itertools.islice(choice, dt.count if op is Ops.VECTORIZE else 1))
        if isinstance(choice, itertools.repeat)
        else list(choice)
    )
    out = dt
    if op in GroupOp.Comparison:
        kinds = [rng.choice(SCALARS).vec(dt.count)] * len(pats)
        out = dtypes.bool.vec(dt.count)
    elif op is Ops.WHERE:
        kinds = [dtypes.bool.vec(dt.count), dt, dt]
    elif op in (Ops.CAST, Ops.BITCAST):
        kinds = [rng.choice(SCALARS).vec(dt.count)]
    elif op is Ops.GEP:
        kinds = [rng.choice([dt.scalar().vec(4), dt.scalar(), dtypes.void])]
    elif op is Ops.VECTORIZE:
        kinds = [dt.scalar()] * len(pats)
    elif op is Ops.INDEX:
        kinds = [dt.base.ptr(16), dtypes.index, dtypes.bool]
    elif op is Ops.STORE:
        kinds, out = [dt, dt], dtypes.void
    elif op in (Ops.END, Ops.GROUP):
        kinds, out = [dtypes.void] * 3, dtypes.void
    elif op is Ops.BIND:
        kinds = [dtypes.int, dtypes.int]
    else:
        kinds = [dt] * len(pats)
    src = tuple(instance(q, env, k) for q, k in zip(pats, kinds))
    if op in GroupOp.ALU and op not in GroupOp.Comparison:
        out = src[-1].dtype
    if not p.strict_length and op is Ops.REDUCE:
        src += tuple(
            UOp.range(rng.choice([2, 3, 4]), i, AxisType.REDUCE)
            for i in rng.sample(range(4), rng.randrange(1, 3))
        )
    if not p.strict_length and op is Ops.END:
        src += (UOp.range(4, 0, AxisType.LOOP),)
    return UOp(op, out, src, arg_of(p, op, out, src))


def well_typed(root):
    for u in root.toposort():
        # Unsigned arithmetic that wraps has other bounds here.
        if dtypes.is_unsigned(u.dtype) and (u.vmin < 0 or u.vmax > dtypes.max(u.dtype)):
            return False
        if u.op in GroupOp.ALU:
            if len(u.src) != (1 if u.op in GroupOp.Unary else 3 if u.op in GroupOp.Ternary else 2):
                return False
            src = u.src[1:] if u.op is Ops.WHERE else u.src
            if any(s.dtype != src[0].dtype for s in src) or (
                u.op not in GroupOp.Comparison and u.dtype != src[0].dtype
            ):
                return False
            if u.op is Ops.WHERE and u.src[0].dtype != dtypes.bool.vec(u.dtype.count):
                return False
            if u.op in (
                Ops.RECIPROCAL,
                Ops.SQRT,
                Ops.EXP2,
                Ops.LOG2,
                Ops.SIN,
            ) and not dtypes.is_float(u.dtype):
                return False
            if u.op in (
                Ops.AND,
                Ops.OR,
                Ops.XOR,
                Ops.SHL,
                Ops.SHR,
                Ops.IDIV,
                Ops.MOD,
            ) and dtypes.is_float(u.dtype):
                return False
            if u.op in (Ops.SHL, Ops.SHR) and (
                u.dtype is dtypes.bool or u.src[1].vmin < 0 or u.src[1].vmax > 64
            ):
                return False
            if u.op in (Ops.IDIV, Ops.MOD, Ops.SUB, Ops.NEG, Ops.FDIV, Ops.POW) and dtypes.is_bool(
                u.dtype
            ):
                return False
            if u.op is Ops.POW and not dtypes.is_float(u.dtype):
                return False
            if u.op is Ops.THREEFRY:
                return False
            if u.op is Ops.MAX and any(s.op is Ops.CONST and s.arg is Invalid for s in u.src):
                return False
        if u.op is Ops.RANGE and not dtypes.is_int(u.dtype):
            return False
        if u.op is Ops.VCONST and len(u.arg) != u.dtype.count:
            return False
        if u.op is Ops.VECTORIZE and (
            len(u.src) != u.dtype.count or any(s.dtype != u.dtype.scalar() for s in u.src)
        ):
            return False
        if u.op is Ops.GEP and (
            u.src[0].dtype is not dtypes.void and u.dtype.scalar() != u.src[0].dtype.scalar()
        ):
            return False
        if u.op in (Ops.CAST, Ops.BITCAST) and (
            u.src[0].dtype.count != u.dtype.count or u.src[0].dtype is dtypes.void
        ):
            return False
        if u.op is Ops.BITCAST and u.src[0].dtype.itemsize != u.dtype.itemsize:
            return False
    return True


out = []


def case(table, number, matcher, u, whole=False):
    try:
        r = graph_rewrite(u, matcher) if whole else matcher.rewrite(u)
    except Exception:
        return False
    if r is not None and not whole and not isinstance(r, UOp):
        return False
    rows = None if r is None else dump(r)
    # Whether NaN constants are one object or several is an accident of Python.
    if rows is not None and any(n[1] == "VCONST" and "nan" in n[4] for n in rows):
        return False
    if r is not None and not well_typed(r):
        return False
    # The bounds of pointers mean nothing, but tinygrad computes them.
    if rows is not None and any(n[1] == "CAST" and "ptr" in rows[n[3][0]][2] for n in rows):
        return False
    out.append([table, number, dump(u), rows])
    return r is not None


def groups(patterns):
    """Patterns of one rule: those that differ only in an operation share their function's code."""
    return [list(g) for _, g in itertools.groupby(patterns, key=lambda pf: pf[1].__code__)]


for table, patterns in TABLES.items():
    whole = WHOLE.get(table, sym)
    for i, group in enumerate(groups(patterns)):
        single = PatternMatcher(group)
        hits = tried = 0
        while hits < 12 and tried < 1500:
            tried += 1
            p, _ = rng.choice(group)
            if Ops.WMMA in p.early_reject:
                break
            dt = rng.choice(SCALARS)
            if table == "SimplifyValid":  # on integers it multiplies what it should combine with &
                dt = dtypes.bool
            elif rng.random() < 0.2 or any(o in (Ops.GEP, Ops.VECTORIZE, Ops.CAT) for o in p.op):
                dt = dt.vec(rng.choice([2, 4]))
            try:
                u = instance(p, {}, dt)
                if not well_typed(u) or not p.match(u, {}):
                    continue
            except Exception:
                continue
            before = len(out)
            hit = case(table, i, single, u)
            if hit or (len(out) > before and rng.random() < 0.02):
                hits += hit
                case(table, -1, whole, u)
                case(table, -2, whole, u, True)
            else:
                del out[before:]
        if hits < 12:
            print(
                f"{table} rule {i} line {group[0][0].location[1]}: {hits} hits of {tried} tries",
                file=sys.stderr,
            )

body = "\n".join(json.dumps(r, separators=(",", ":")) for r in out)
with open("rules.json.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
    z.write(body.encode())
print(len(out), {t: len(groups(p)) for t, p in TABLES.items()}, file=sys.stderr)
