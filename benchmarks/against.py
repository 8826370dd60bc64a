"""Ours against ours: ``python -m benchmarks.against OTHER [ROW ...] [--rounds 5]``.

OTHER is another checkout of this repository. Both sides of a row run by turns in fresh processes, on the same data
and without the peers; printed are the medians over the rounds of the fastest fit, and the ratio (above 1: this
checkout is faster).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.__main__ import ROWS
from benchmarks.harness import Row

FITS = """
import json, sys, time
from pathlib import Path
from benchmarks.__main__ import ROWS
from benchmarks.store import load, make_data
name, size, folder = sys.argv[1:]
row = ROWS[name]
data = load(make_data(row, size, Path(folder)))
data = row.ours.prepare(data) if row.ours.prepare else data
row.ours.fit(data)
seconds = []
while len(seconds) < 3 or (sum(seconds) < 1.0 and len(seconds) < 30):
    begin = time.perf_counter()
    row.ours.fit(data)
    seconds.append(time.perf_counter() - begin)
print(json.dumps(seconds))
"""


def fits(checkout: Path, name: str, size: str, folder: str, **settings: str) -> list[float]:
    """Seconds of our fits of a row, in a process of a checkout's own with these environment variables."""
    places = os.pathsep.join([str(checkout / "src"), str(checkout)])
    environment = {**os.environ, "PYTHONPATH": places, **settings}
    command = [sys.executable, "-W", "ignore", "-c", FITS, name, size, folder]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("other", type=Path, help="another checkout")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to run; all of them when none is named")
    parser.add_argument("--size", choices=["full", "smoke"], default="full")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side")
    options = parser.parse_args()
    here, there = Path(__file__).resolve().parent.parent, options.other.resolve()
    names = options.rows or [name for name, row in ROWS.items() if isinstance(row, Row)]
    print(f"{'row':18}{'other':>10}{'this':>10}{'ratio':>8}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            sides: dict[Path, list[float]] = {there: [], here: []}
            for _ in range(options.rounds):
                for checkout, seconds in sides.items():
                    seconds.append(min(fits(checkout, name, options.size, folder)))
            before, after = (statistics.median(seconds) for seconds in sides.values())
            print(f"{name:18}{before:10.4f}{after:10.4f}{before / after:8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
