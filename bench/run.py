"""Measure what the project promises; write bench/RESULTS.md, bench/results.json and a chart.

python bench/run.py [--quick] [--only PATTERN] [--device NAME] [--beam] [--output FOLDER]

--quick: one round, less work to compare, no memory run of 100,000 steps, small forms of the
examples. --beam: tinygrad with BEAM=2 also for what is no training step, which searches for hours
the first time. compare.py, generation.py and showcase.py measure single things.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import chart
import compare
import generation
import memory
import overheads
import report
import showcase
from contestants import PORTABLE, USUAL, WAYS
from duel import Pace
from report import table
from rows import Row, failures
from tasks import BY_NAME, TASKS, Task

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
GO = os.environ.get("GO", "go")
ROUNDS = 3

# Promised overheads: cold in ms, cached in us.
COLD_LIMIT = {"vecadd": 0.5, "softmax": 5.0, "matmul": 5.0, "mlp": 20.0, "gpt": 100.0}
CACHED_LIMIT = {"vecadd": 30.0, "mlp": 1000.0}
# The minimum speed of the portable device relative to the native one.
PORTABLE_LIMIT = {
    "vector add 1e7": 0.85,
    "sum all 1e7": 0.85,
    "exp 1e6": 0.3,
    "matmul 512": 0.3,
    "softmax 4096x1024": 0.25,
    "layernorm 4096x1024": 0.25,
    "attention 12x1024x64 causal": 0.25,
    "conv2d 1x64x56x56, 3x3, 64": 0.25,
    "MLP 784-512-256-10 b128 training step": 0.25,
    "GPT 2x256 T128 training step": 0.25,
}
# Promised overhead of a call in us: an operation that adds a node; a result of 10 elements.
NODE_LIMIT = {"c": 0.4, "python": 3.0}
REALIZE_LIMIT = {"python": 30.0}
FRONTENDS = {
    "c": "C",
    "python": "Python (ctypes)",
    "node_js": "Node (koffi)",
    "r": "R (.Call)",
    "tinygrad": "tinygrad in Python",
    "numpy": "numpy",
}
TITLES = {
    "vecadd": "vecadd, 10 elements",
    "softmax": "softmax 32x128",
    "matmul": "matmul 256",
    "mlp": "MLP 784-512-256-10, batch 128: loss and gradients",
    "gpt": "GPT, 2 layers, dim 256, 128 tokens: loss and gradients",
}


STARTERS = {".py": [sys.executable], ".js": ["node"], ".R": ["Rscript"]}


def measure(program: str, *arguments: str, cores: int = 0) -> Any:
    """Run one of the measuring programs, pinned to some cores if asked; return its JSON."""
    print(f"{program} {' '.join(arguments)}", flush=True)
    usable = os.sched_getaffinity(0)
    if cores:  # inherited by the child
        os.sched_setaffinity(0, sorted(usable)[:cores])
    try:
        starter = STARTERS.get(Path(program).suffix, [GO, "run"])
        command = [*starter, str(HERE / program), *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    finally:
        os.sched_setaffinity(0, usable)
    return json.loads(done.stdout)


def medians(runs: list[Any]) -> Any:
    """Return the median of each figure of several runs."""
    if not isinstance(runs[0], dict):
        return statistics.median(runs)
    return {key: medians([run[key] for run in runs]) for key in runs[0]}


def by_turns(rounds: int) -> tuple[Any, Any]:
    """Measure the overheads of polygrad and tinygrad, interleaved."""
    pairs = [(measure("overhead.py"), measure("tinygrad_overhead.py")) for _ in range(rounds)]
    return medians([p[0] for p in pairs]), medians([p[1] for p in pairs])


def product_speed(rounds: int) -> tuple[float, float]:
    """Return the GFLOP/s of a matrix product on one core, ours and OpenBLAS's, interleaved."""
    turns = [
        (measure("kernels", "-matmul", cores=1), measure("openblas.py", cores=1))
        for _ in range(rounds)
    ]
    return (
        statistics.median(ours["matmul_512_gflops"] for ours, _ in turns),
        statistics.median(peer["gflops"] for _, peer in turns),
    )


def rewrite_speed() -> tuple[float, float]:
    """Return the nodes per second that the rewriter visits on one core, and the visits."""
    options = ["-run=^$", "-bench=Rewrite/gpt", "-cpu=1", "-count=5"]
    command = [GO, "test", *options, "./bench"]
    print(" ".join(command), flush=True)
    # As the library sets it, see capi.
    environment = {**os.environ, "GOGC": "400"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    speeds = [float(m) for m in re.findall(r"([\d.e+]+) visits/s", done.stdout)]
    visits = re.search(r"([\d.e+]+) visits\s", done.stdout)
    if not speeds or not visits:
        raise SystemExit(f"no visits in the output of the Go benchmark:\n{done.stdout}")
    return statistics.median(speeds), float(visits.group(1))


def nodes_per_second() -> float:
    """Return the nodes of the graph that are made per second on one core."""
    options = ["-run=^$", "-bench=Nodes", "-cpu=1", "-count=5"]
    command = [GO, "test", *options, "./bench"]
    environment = {**os.environ, "GOGC": "400"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return statistics.median(float(m) for m in re.findall(r"([\d.e+]+) nodes/s", done.stdout))


def against_others(
    tasks: list[Task], pace: Pace, threads: list[int], folder: Path
) -> tuple[list[str], Any]:
    """Compare with other frameworks; draw the chart. Return the section and the results."""
    rows, limits, versions = compare.measure(tasks, USUAL, threads, pace, show=show)
    probe(rows)
    memory.probe(rows)
    chart.write(folder / "results.svg", rows, max(threads))
    peers = [name for name in USUAL if name in versions]
    section = report.section(rows, limits, peers)
    known = ", ".join(f"{name} {versions[name]}" for name in peers)
    results = {"versions": versions, "limits": limits, "rows": rows}
    lines = [section.replace("\n\n", f"\n\n{known}.\n\n", 1)]
    return lines + memory.section(rows, peers), results


def written(quick: bool) -> tuple[list[str], Any]:
    """Measure text generation; return the section and the rows."""
    rounds, seconds, most = (1, 0.2, 1.0) if quick else (3, 1.0, 8.0)
    found = generation.measure(generation.ENTRANTS, rounds, seconds, most)
    return generation.section(found), found


def save(folder: Path, results: Any) -> None:
    """Write bench/results.json."""
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def bf16_times(rows: list[Row]) -> float:
    """Return the speedup of our matrix product in bfloat16 over float32."""
    times = {r["workload"]: r["ours_us"] for r in rows if r["ours_us"] is not None}
    if not {"matmul 1024", "matmul bf16 1024"} <= set(times):
        return 0.0
    return float(times["matmul 1024"] / times["matmul bf16 1024"])


def show(row: Row) -> None:
    """Print a row as soon as it is there."""
    print(compare.line(row), flush=True)


def probe(rows: list[Row]) -> None:
    """Add compile times, code size and memory to the rows with the most threads."""
    most = max(row["threads"] for row in rows)
    path = os.pathsep.join([str(HERE), str(ROOT / "bindings" / "python")])
    known = {"PYTHONPATH": path, "POLY_THREADS": str(most), "POLY_PERF": "1"}
    for row in rows:
        if row["threads"] != most or row["ours_us"] is None:
            continue
        environment = {**os.environ, **known, **WAYS[BY_NAME[row["workload"]].subject]}
        command = [sys.executable, str(HERE / "probe.py"), row["workload"]]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        row["probe"] = json.loads(done.stdout)


def portable_rows(pace: Pace) -> list[Row]:
    """Compare our portable device with the native one."""
    tasks = [task for task in TASKS if task.name in PORTABLE_LIMIT]
    rows, _, _ = compare.measure(tasks, [PORTABLE], [1, 2], pace)
    return rows


def portable_section(rows: list[Row]) -> list[str]:
    """Return the part of bench/RESULTS.md about the portable device."""
    lines = []
    for row in rows:
        times = [report.duration(row["ours_us"]), report.duration(row["peers_us"][PORTABLE])]
        cells = [row["workload"], f"{row['threads']}", *times]
        if row["ratio"] is not None:
            limit = PORTABLE_LIMIT[row["workload"]]
            cells += [f"{row['ratio']:.0%}", verdict(row["ratio"], limit, at_most=False)]
        else:
            cells += ["", "; ".join(row["notes"].values())]
        lines.append(cells)
    return [
        "## The portable device",
        "",
        "Kernels of the wasm device by turns with those of the default one.",
        "",
        *table(["work", "threads", "default", "wasm", "share of its speed", "limit"], lines),
        "",
    ]


def verdict(value: float, limit: float | None, at_most: bool = True) -> str:
    """Return whether a value meets its limit, as text."""
    if limit is None:
        return ""
    kept = value <= limit if at_most else value >= limit
    return f"{'<' if at_most else '>='} {limit:g}: {'kept' if kept else '**missed**'}"


def overhead_section(ours: Any, peer: Any) -> list[str]:
    """Compare the overheads of compiling, cold and cached."""
    cold, cached = [], []
    for name, title in TITLES.items():
        a, b = ours[name], peer[name]
        kernels = f"{a['kernels']:.0f} / {b['kernels']:.0f}"
        cold.append(
            [
                title,
                kernels,
                f"{a['cold_ms']:.2f}",
                f"{b['cold_ms']:.1f}",
                f"{b['cold_ms'] / a['cold_ms']:.0f}x",
                verdict(a["cold_ms"], COLD_LIMIT[name]),
            ]
        )
        cached.append(
            [
                title,
                f"{a['cached_us']:.1f}",
                f"{b['cached_us']:.0f}",
                f"{b['cached_us'] / a['cached_us']:.0f}x",
                verdict(a["cached_us"], CACHED_LIMIT.get(name)),
            ]
        )
    return [
        "## From the call to the runnable kernel",
        "",
        "Cold: building the graph, scheduling, lowering, rendering, and with us compiling to",
        "machine code too; tinygrad without its compiler (clang). All caches empty.",
        "",
        *table(
            ["work", "kernels (ours / tinygrad)", "ours, ms", "tinygrad, ms", "ratio", "limit"],
            cold,
        ),
        "",
        "Cached: the same graph built and realized again. Ours runs its kernels (MLP and GPT with",
        "layers of width 16, so that they hardly count); tinygrad runs on its NULL device, which",
        "does nothing.",
        "",
        *table(["work", "ours, us", "tinygrad, us", "ratio", "limit"], cached),
        "",
    ]


def frontend_calls() -> Any:
    """Measure the overhead of calls through each frontend, C first."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "calls"
        source, include = str(HERE / "frontends" / "calls.c"), str(ROOT / "include")
        library = Path(os.environ["POLYGRAD_LIB"])
        link = [str(library), f"-Wl,-rpath,{library.parent}", "-o", str(program)]
        subprocess.run(["gcc", "-O2", "-std=c11", f"-I{include}", source, *link], check=True)
        results = json.loads(output([str(program)]))
    results |= measure("frontends/calls.py")
    results |= measure("frontends/calls.js")
    results |= measure("frontends/calls.R", str(ROOT / "build" / "r" / "library"))
    return results | measure("frontends/tinygrad_calls.py")


def frontend_section(results: Any) -> list[str]:
    """Compare the overhead of a call through the frontends."""
    rows = []
    for name, title in FRONTENDS.items():
        node, result = results[name]["node"], results[name]["realize"]
        kept = [verdict(node, NODE_LIMIT.get(name)), verdict(result, REALIZE_LIMIT.get(name))]
        rows.append([title, f"{node:.2f}", kept[0], f"{result:.1f}", kept[1]])
    return [
        "## What a call costs",
        "",
        "Node: `x + b` in a chain of 100, which adds a node that was not there before. Realize:",
        "`a + b` of 10 elements, compiled before, with its result. numpy computes in both, and",
        "tinygrad's realize runs on its NULL device, which does nothing.",
        "",
        *table(["frontend", "node, us", "limit", "realize, us", "limit"], rows),
        "",
    ]


def binding_section(results: Any) -> list[str]:
    """Show the times of small workloads through the Python binding."""
    rows = [[f"`{name}`" if "(" in name else name, f"{us:.1f}"] for name, us in results.items()]
    return [
        "## From Python",
        "",
        "Small work through the binding, compiled before: building the graph and running it.",
        "",
        *table(["work", "us"], rows),
        "",
    ]


def kernel_section(results: Any, product: tuple[float, float], both: Any) -> list[str]:
    """Compare kernels with loops in C."""
    rows = []
    for name, r in results["kernels"].items():
        rate = r["bytes"] / 1e3
        net = r["gcc_net_us"] / r["ours_net_us"]
        rows.append(
            [
                name,
                f"{rate / r['ours_us']:.1f}",
                f"{rate / r['gcc_us']:.1f}",
                f"{r['gcc_us'] / r['ours_us']:.0%}",
                f"{net:.0%}",
                "" if name.startswith("exp") else verdict(net, 0.8, at_most=False),
            ]
        )
    speed, peer = product
    return [
        "## WASM kernels",
        "",
        "On one core, against C loops compiled with `gcc -O3 -msse4.2 -ffast-math`, by turns, in",
        "processor time of the thread. exp of C is no loop of gcc's but glibc's function for four",
        "numbers at a time; it is here to compare, without a limit.",
        "L1: 2,048 elements, L2: 65,536, memory: 4 Mi. Running a plan costs ours "
        f"{results['call_ours_us'] * 1e3:.0f} ns and a call",
        f"the C loop {results['call_gcc_us'] * 1e3:.0f} ns, measured on 4 elements; the last share",
        "leaves that out, and the limit is for it.",
        "",
        *table(["kernel", "ours, GB/s", "gcc, GB/s", "share", "without call", "limit"], rows),
        "",
        f"Matrix product 512x512, float32: {speed:.1f} GFLOP/s on one core "
        f"({verdict(speed, 25, False)}), {both['matmul_512_gflops']:.1f} on two. OpenBLAS, with",
        f"vectors four times as wide, makes {peer:.0f} on one core by turns with that.",
        "",
    ]


def memory_section(seen: Any) -> list[str]:
    """Show memory along many training steps."""
    rows = [[f"{s['step']:,}", f"{s['resident_kib']:,}", f"{s['live_nodes']:,}"] for s in seen]
    growth = seen[-1]["resident_kib"] - seen[0]["resident_kib"]
    return [
        "## Memory over training steps",
        "",
        "A small model, every step built anew and released.",
        "",
        *table(["step", "resident, KiB", "live nodes"], rows),
        "",
        f"Growth from the first line to the last: {growth:,} KiB.",
        "",
    ]


def conditions() -> list[str]:
    """Describe the machine and the software of the measurements."""
    versions = {
        "Go": output([GO, "version"]).split()[2],
        "Python": platform.python_version(),
        "gcc": output(["gcc", "-dumpfullversion"]),
        "tinygrad": output([sys.executable, "-m", "pip", "show", "tinygrad"])
        .split("Version: ")[1]
        .split()[0],
        "polygrad": output(["git", "rev-parse", "--short", "HEAD"]),
    }
    return [
        "# Results",
        "",
        "Written by `make bench`; do not edit. Medians; every ratio is from this one run.",
        "Beside it stand [variations of this work](VARIATIONS.md), odd sizes and other masks, and",
        "[random programs](FUZZ.md), fused and step by step.",
        "",
        *report.where(),
        f"- Load at the start (1 min): {os.getloadavg()[0]:.1f}",
        f"- {', '.join(f'{name} {text}' for name, text in versions.items())}",
        f"- Device: {os.environ.get('POLY_DEVICE', 'native')}",
        "",
    ]


def output(command: list[str]) -> str:
    """Return what a command prints."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def overhead_rows(cold: Any, calls: Any, compared: list[Row]) -> list[dict[str, Any]]:
    """Gather the overheads."""
    found = {"cold": cold, "calls": calls, "nodes": nodes_per_second()}
    found |= {"footprint": measure("footprint.py"), "bf16_times": bf16_times(compared)}
    return overheads.rows(found)


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description="Measure what the project promises.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--device", help="POLY_DEVICE")
    parser.add_argument("--beam", action="store_true", help="let tinygrad search everything")
    parser.add_argument("--only", default="", help="regular expression: tasks to compare")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of the results")
    args = parser.parse_args()
    rounds = 1 if args.quick else ROUNDS
    start = time.monotonic()
    # Every frontend loads the same library.
    os.environ.setdefault("POLYGRAD_LIB", str(ROOT / "build" / "libpolygrad.so"))
    if args.device:
        os.environ["POLY_DEVICE"] = args.device
    lines = conditions()
    tasks = compare.chosen(args.only)
    tasks = [task for task in tasks if not (args.quick and task.slow)]
    if args.beam:
        tasks = [task.searched() for task in tasks]
    pace = Pace(2, 0.01, 0.5) if args.quick else Pace(7, 0.02, 1.5)
    threads = [2] if args.quick else [1, 2]
    section, results = against_others(tasks, pace, threads, args.output)
    lines += section
    save(args.output, results)  # what follows may fail
    section, results["generation"] = written(args.quick)
    lines += section
    results["examples"] = [example.measured(args.quick) for example in showcase.EXAMPLES]
    lines += showcase.section(results["examples"])
    save(args.output, results)
    ours, peer = by_turns(rounds)
    calls = medians([frontend_calls() for _ in range(rounds)])
    results["overheads"] = overhead_rows(ours, calls, results["rows"])
    lines += overheads.section(results["overheads"])
    if os.environ.get("POLY_DEVICE", "native") != "wasm":
        results["portable"] = portable_rows(pace)
        lines += portable_section(results["portable"])
    lines += overhead_section(ours, peer)
    lines += frontend_section(calls)
    lines += binding_section(measure("binding.py"))
    speed, visits = rewrite_speed()
    lines += [
        "## Rewriting",
        "",
        f"{speed / 1e6:.2f} million visits a second on one core "
        f"({verdict(speed / 1e6, 1, False)}):",
        f"scheduling and lowering the GPT above, {visits:,.0f} visits of a node by a table, the",
        "time of everything else in these steps (optimiser, order of instructions) included.",
        "",
    ]
    one_core = measure("kernels", cores=1)
    product = product_speed(1 if args.quick else 2 * ROUNDS - 1)
    lines += kernel_section(one_core, product, measure("kernels", "-matmul"))
    if not args.quick:
        lines += memory_section(measure("overhead.py", "memory")["memory"])
    lines += [f"All of this took {time.monotonic() - start:.0f} seconds.", ""]
    save(args.output, results)
    (args.output / "RESULTS.md").write_text("\n".join(lines))
    print("\n".join(lines))
    # Results are written even if some differ from the peers', but the run fails.
    wrong = failures([*results["rows"], *results.get("portable", [])])
    if wrong:
        raise SystemExit("\n".join(["other values than a peer's:", *wrong]))


if __name__ == "__main__":
    main()
