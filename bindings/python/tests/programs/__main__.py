"""Runs the programs of many seeds: python -m programs COUNT [FIRST_SEED]."""

from __future__ import annotations

import sys

from programs import failure


def main() -> None:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for seed in range(first, first + count):
        found = failure(seed)
        if found:
            failed += 1
            print(found, flush=True)
    print(f"{failed} of {count} programs failed")


if __name__ == "__main__":
    main()
