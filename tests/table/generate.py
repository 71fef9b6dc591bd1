"""Write tests/ops.json: calls of operations with the values that numpy gives in float64."""

from __future__ import annotations

from pathlib import Path

from cases import (
    builder,
    creation,
    elementwise,
    errors,
    indexing,
    linalg,
    losses,
    movement,
    order,
    reduce,
    spatial,
    vectors,
)

TABLE = Path(__file__).resolve().parent.parent / "ops.json"


def table() -> str:
    """Return the text of the table."""
    parts = (
        elementwise,
        reduce,
        order,
        movement,
        indexing,
        linalg,
        spatial,
        losses,
        creation,
        vectors,
        errors,
    )
    if not builder.CASES:
        for part in parts:
            part.add()
    return builder.dump()


if __name__ == "__main__":
    TABLE.write_text(table())
    print(f"{TABLE}: {len(builder.CASES)} cases, {TABLE.stat().st_size} bytes")
