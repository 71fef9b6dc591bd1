"""Write graphs.json.gz: the tensor graphs that tinygrad builds for tests/parity/programs/cases.py.

Run in a checkout of tinygrad at commit c2be31e75b366638965337b96f2c66c2ba8c4068:

    FRAMEWORK=tinygrad PYTHONPATH=.:PROGRAMS python3 graphs.py graphs.json.gz

where PROGRAMS is that folder. Every case has a twin of the same name in graphs_more_test.go.
"""

import gzip
import json
import sys

from cases import CASES
from tinygrad import Tensor
from tinygrad.uop.ops import Ops, UOp

# Where an index has tensors, x[index] = value makes an assignment of this.
for name, index in {
    "ix_set_tensor": lambda i: (slice(None), i),
    "ix_set_tensor_apart": lambda i: (i, slice(None), i),
}.items():
    CASES[name] = (CASES[name][0], lambda x, i, v, at=index: (x + 0)._getitem(at(i), v))


def dtype_text(d):
    if d.count == 0:
        return d.scalar().name + ".vec(0)"
    return str(d)[7:]


def const_text(v):
    if isinstance(v, bool):
        return str(v).lower()
    return repr(float(v)) if isinstance(v, float) else str(v)


def arg_text(u, unique):
    if u.op is Ops.UNIQUE:
        return unique.setdefault(u, f"u{len(unique)}")
    if u.op is Ops.CONST:
        return const_text(u.arg)
    if u.op is Ops.DEFINE_VAR:
        return f"{u.arg[0]}[{u.arg[1]},{u.arg[2]}]"
    if u.op is Ops.REDUCE_AXIS:
        return u.arg[0].name + "(" + ",".join(map(str, u.arg[1])) + ")"
    if isinstance(u.arg, tuple):
        return "(" + ",".join(map(const_text, u.arg)) + ")"
    return None if u.arg is None else str(u.arg)


def nodes(outs):
    at, unique, out = {}, {}, []
    for u in UOp.sink(*[t.uop for t in outs]).toposort():
        at[u] = len(out)
        out.append(
            [len(out), u.op.name, dtype_text(u.dtype), [at[s] for s in u.src], arg_text(u, unique)]
        )
    return out


def main():
    result = {}
    for name, (inputs, f) in CASES.items():
        got = f(*[Tensor.empty(*shape, dtype=dtype) for shape, dtype in inputs])
        outs = list(got) if isinstance(got, (tuple, list)) else [got]
        result[name] = {
            "inputs": [{"shape": list(s), "dtype": d} for s, d in inputs],
            "graph": nodes(outs),
        }
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
        f.write(json.dumps(result, separators=(",", ":")).encode())
    print(len(result), "graphs")


if __name__ == "__main__":
    main()
