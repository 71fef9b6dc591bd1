"""Write kernels.json.gz: the kernels that tinygrad makes of cases.py, and their values.

Run in a checkout of tinygrad at commit c2be31e75b366638965337b96f2c66c2ba8c4068, with clang:

    FRAMEWORK=tinygrad PYTHONPATH=.:FOLDER python3 FOLDER/record.py FOLDER/kernels.json.gz

where FOLDER is the one of this file. Kernels are lowered for ClangRenderer with DEVECTORIZE=0 and
optimisation off; those that compute the values are tinygrad's usual ones.
"""

import gzip
import json
import sys
from subprocess import CalledProcessError

import tinygrad.tensor
from cases import CASES, PROGRAMS
from kernels import canonical, inputs, outputs
from tinygrad import Tensor
from tinygrad.codegen import full_rewrite_to_sink
from tinygrad.dtype import INVERSE_DTYPES_DICT, AddrSpace, Invalid, PtrDType
from tinygrad.helpers import Context
from tinygrad.renderer.cstyle import ClangRenderer
from tinygrad.uop.ops import Ops

MOST_VALUES = 64
_run = tinygrad.tensor.run_schedule
_asts = []


def dtype_text(d):
    if isinstance(d, PtrDType):
        space = "" if d.addrspace is AddrSpace.GLOBAL else f",{d.addrspace.name}"
        vector = f".vec({d.v})" if d.v != 1 else ""
        return f"{dtype_text(d.base)}.ptr({d.size}{space}){vector}"
    name = INVERSE_DTYPES_DICT[d.scalar().name]
    return f"{name}.vec({d.count})" if d.count != 1 else name


def arg_text(u):
    if u.op is Ops.CONST:
        if u.arg is Invalid:
            return "Invalid"
        return str(u.arg).lower() if isinstance(u.arg, bool) else repr(u.arg)
    if u.op is Ops.DEFINE_VAR:
        return f"{u.arg[0]}[{u.arg[1]},{u.arg[2]}]"
    if u.op is Ops.RANGE:
        return "_".join(map(str, u.arg[:-1])) + ":" + u.arg[-1].name
    if u.op is Ops.SINK:
        return "KernelInfo(name=test)"
    if isinstance(u.arg, tuple):
        return "(" + ",".join(map(str, u.arg)) + ")"
    return "" if u.arg is None else str(u.arg)


def kernel(ast):
    """Return a lowered kernel, one node a line."""
    at, lines = {}, []
    with Context(DEVECTORIZE=0):
        sink = full_rewrite_to_sink(ast, ClangRenderer(), optimize=False)
    for u in sink.toposort():
        at[u] = len(at)
        sources = ",".join(str(at[s]) for s in u.src)
        lines.append(f"{at[u]} {u.op.name} {dtype_text(u.dtype)} [{sources}] {arg_text(u)}")
    return [canonical(line) for line in lines]


def run_schedule(schedule, *args, **options):
    for item in schedule:
        if item.ast.op is Ops.SINK and item.ast not in _asts:
            _asts.append(item.ast)
    return _run(schedule, *args, **options)


def record(wanted, f):
    tensors = inputs(Tensor, wanted)
    _asts.clear()
    outs = outputs(f(*tensors))
    # A view has no kernel: it is asked for as memory of its own.
    outs = [out.contiguous() for out in outs]
    try:
        Tensor.realize(*outs)
    except CalledProcessError:  # an old clang has no bfloat16
        return {"kernels": [kernel(ast) for ast in _asts], "values": [None] * len(outs)}
    kernels = [kernel(ast) for ast in _asts]
    values = []
    for out in outs:
        # What depends on a variable has no shape of numbers.
        known = all(isinstance(n, int) for n in out.shape)
        values.append(out.float().flatten()[:MOST_VALUES].tolist() if known else None)
    return {"kernels": kernels, "values": [v and [str(x) for x in v] for v in values]}


def main():
    tinygrad.tensor.run_schedule = run_schedule
    found, failed = {}, {}
    for name, (wanted, f) in {**CASES, **PROGRAMS}.items():
        try:
            found[name] = record(wanted, f)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
        f.write(json.dumps(found, separators=(",", ":")).encode())
    print(len(found), "programs,", sum(len(p["kernels"]) for p in found.values()), "kernels")
    for name, error in failed.items():
        print("tinygrad cannot run", name, error[:150])


if __name__ == "__main__":
    main()
