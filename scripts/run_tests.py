"""Run every suite of the project and print the sum.

python scripts/run_tests.py [SUITE...]   without names all of them: lint, go, c, python, js, r,
                                         levels, packages

The last line is `N passed, M failed, K skipped`; the exit code is 1 when anything failed.
"""

from __future__ import annotations

import sys
import time

from suites import SUITES
from tally import Tally

LONGEST = 100  # lines that are shown of one failure


def shortened(failure: str) -> str:
    """Return the first lines of a failure."""
    lines = failure.splitlines()
    rest = len(lines) - LONGEST
    return "\n".join(lines[:LONGEST] + ([f"… and {rest} more lines"] if rest > 0 else []))


def main() -> int:
    """Run the suites named on the command line."""
    names = sys.argv[1:] or list(SUITES)
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"run_tests.py: unknown suite {unknown[0]!r}; there are {', '.join(SUITES)}")
        return 2
    total, sums = Tally(), []
    for name in names:
        start = time.monotonic()
        tally = SUITES[name].run()
        total += tally
        sums.append(f"{SUITES[name].title}: {tally} ({time.monotonic() - start:.0f} s)")
    for failure in total.failures:
        print(f"\n--- {shortened(failure)}")
    for reason in total.reasons:
        print(f"skipped {reason}")
    print("", *sums, total, sep="\n", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
