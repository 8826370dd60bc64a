"""How time grows with the data: a row at a tenth and ten times its size, and the exponents that follow."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import DATA, Outcome, Row, run_row
from benchmarks.store import make_data

FACTORS = {"tenth": 0.1, "tenfold": 10.0}
COUNTS = ("n", "sequences", "queries")  # the sizes that grow; the first of them that a row has is its size
ROOM = 8  # times the data that a fit, the peers' copies and the generator may take at once


def run_growth(
    row: Row,
    outcome: Outcome,
    rounds: int = 3,
    folder: Path = DATA,
    limit: float = 3600,
    start: str = "spawn",
) -> dict[str, Any]:
    """The exponents of ours and of the fastest peer, from an outcome and from runs at other sizes.

    A size whose data would not leave room in memory is left out, and named.
    """
    base, fastest = outcome.size, outcome.against
    points: dict[str, list[tuple[float, float]]] = {"tercet": [], fastest: []}
    left_out = []
    for name, factor in {"": 1.0, **FACTORS}.items():
        if name and factor > 1 and not fits(row, base, factor, folder):
            left_out.append(f"{name}: too little memory")
            continue
        found = outcome
        if name:
            peers = {title: peer for title, peer in row.peers.items() if title == fastest}
            larger = scaled(replace(row, peers=peers), base, name, factor)
            found = run_row(larger, f"{base}-{name}", rounds, folder, limit, start)
        size = amount(row, base) * factor
        for score in found.scores:
            if score.contender in points and score.wall:
                points[score.contender].append((size, score.wall))
    return {
        "ours": exponent(points["tercet"]),
        "peer": exponent(points[fastest]) if fastest else None,
        "sizes": [size for size, _ in sorted(points["tercet"])],
        "left_out": "; ".join(left_out),
    }


def scaled(row: Row, base: str, name: str, factor: float) -> Row:
    """The row with a further size, `base-name`, in which the counts are `factor` times those of `base`.

    Without its exact fit: only times are wanted, and it would take the longest of all.
    """
    sizes = row.sizes[base]
    grown = {key: round(value * factor) if key in COUNTS else value for key, value in sizes.items()}
    return replace(row, sizes={**row.sizes, f"{base}-{name}": grown}, optimum=None)


def amount(row: Row, size: str) -> float:
    """The count by which a row's size is known: of rows, or of sequences."""
    return float(next(row.sizes[size][key] for key in COUNTS if key in row.sizes[size]))


def fits(row: Row, base: str, factor: float, folder: Path) -> bool:
    """Whether data so many times as large as those of `base` leave room for a fit."""
    data = sum(path.stat().st_size for path in make_data(row, base, folder).iterdir())
    return ROOM * factor * data <= available_memory()


def available_memory() -> float:
    """Bytes that a new process can have; infinite where nobody says so."""
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return math.inf
    return 1024.0 * int(text.split("MemAvailable:")[1].split()[0])


def exponent(points: list[tuple[float, float]]) -> float | None:
    """The slope of log time over log size by least squares: 1 is linear; None for fewer than two sizes.

    >>> exponent([(10, 0.1), (100, 1.0), (1000, 10.0)])
    1.0
    """
    if len(points) < 2:
        return None
    logs = [(math.log(size), math.log(wall)) for size, wall in points]
    middle = [sum(column) / len(logs) for column in zip(*logs)]
    spread = sum((x - middle[0]) ** 2 for x, _ in logs)
    return round(sum((x - middle[0]) * (t - middle[1]) for x, t in logs) / spread, 12)
