"""Run every suite of the project and print the sum.

python scripts/run_tests.py [--all] [SUITE...]   without names all of them but the last two: go,
                                                 wasip1, c, python, js, js-wasm, browser, r, levels,
                                                 packages, peers, lint; fast-go and fast-python,
                                                 which are short forms

Of long tables, which another suite has run whole or which another day runs, some suites run a part:
that of the day, or of POLY_TESTS=NUMBER. Some parts of suites have their days, unless the suite is
named. --all runs all of them, as POLY_TESTS=all does.

Parts of suites run side by side, one for each processor, at most four. Behind the sum of each
suite stands how long its parts took, one after the other. The names of failures stand at the end
once more, for who sees the end of a log only. The last line is `N passed, M failed, K skipped`; the
exit code is 1 when anything failed.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor

from suites import FIRST, QUICK, SUITES, Part, Weekly
from tally import Tally

LONGEST = 100  # most lines shown of one failure
SLOWEST = 12  # number of slowest packages and test programs whose times are shown


def shortened(failure: str) -> str:
    """Return the first lines of a failure."""
    lines = failure.splitlines()
    rest = len(lines) - LONGEST
    return "\n".join(lines[:LONGEST] + ([f"… and {rest} more lines"] if rest > 0 else []))


def timed(part: Part) -> tuple[Tally, float]:
    """Run a part of a suite, with its time; an exception counts as a failure."""
    start = time.monotonic()
    try:
        tally = part()
    except Exception:
        tally = Tally()
        tally.fail(traceback.format_exc())
    return tally, time.monotonic() - start


def main() -> int:
    """Run the suites named on the command line."""
    if "--all" in sys.argv:
        os.environ["POLY_TESTS"] = "all"
    turn = os.environ.setdefault("POLY_TESTS", str(int(time.time()) // (24 * 60 * 60)))
    asked = [name for name in sys.argv[1:] if name != "--all"]
    names = asked or list(SUITES)
    known = {**SUITES, **QUICK}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"run_tests.py: unknown suite {unknown[0]!r}; there are {', '.join(known)}")
        return 2
    parts = {name: known[name].parts for name in names}
    later = {p for ps in parts.values() for p in ps if isinstance(p, Weekly) and not p.is_today()}
    if asked:
        later = set()
    jobs = [(name, p) for name, ps in parts.items() for p in ps if p not in later]
    jobs.sort(key=lambda job: FIRST.index(job[1]) if job[1] in FIRST else len(FIRST))
    running: dict[str, list[Future[tuple[Tally, float]]]] = {name: [] for name in names}
    start = time.monotonic()
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        for name, job in jobs:
            running[name].append(pool.submit(timed, job))
    total, sums = Tally(), []
    for name, results in running.items():
        done = [result.result() for result in results]
        tally = sum((tally for tally, _ in done), Tally())
        total += tally
        sums.append(f"{known[name].title}: {tally} ({sum(took for _, took in done):.0f} s)")
    for failure in total.failures:
        print(f"\n--- {shortened(failure)}")
    for reason, count in Counter(total.reasons).items():
        print(f"skipped {reason}" + (f" ({count} tests)" if count > 1 else ""))
    slowest = [f"{name} {took:.0f} s" for took, name in sorted(total.times, reverse=True)[:SLOWEST]]
    print("", *sums, f"Slowest: {', '.join(slowest)}", sep="\n")
    for failure in total.failures:
        print("Failed:", failure.partition("\n")[0])
    print(f"Parts of tables: POLY_TESTS={turn}")
    if later:
        print("On other days:", ", ".join(sorted(part.name for part in later)))
    print(f"All: {time.monotonic() - start:.0f} s", total, sep="\n", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
