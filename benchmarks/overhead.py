"""What the library itself costs, without a contest: a pass of the loop, the import, the first fit."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

from benchmarks.harness import Figure, Report
from benchmarks.worker import plain, thread_limits

PASSES = {"full": 50_000, "smoke": 500}
FIRST_FIT = (
    "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True); "
    "from {library}.linear_model import LogisticRegression; LogisticRegression(max_iter=1000).fit(X, y)"
)


def loop_cost(size: str, rounds: int) -> list[Figure]:
    """Microseconds a pass costs in `steps` with no callback registered, above a bare loop."""
    import numpy as np

    from tercet.core.steps import Fit

    class Estimator:
        pass

    passes, w = PASSES[size], np.zeros(100)

    def bare() -> None:
        for _ in range(passes):
            pass

    def number() -> None:
        with Fit(Estimator()) as fit:
            for step in fit.steps(passes):
                step.report(loss=1.0)
                if step.converged(False):
                    break

    def number_and_vector() -> None:
        with Fit(Estimator()) as fit:
            for step in fit.steps(passes):
                step.report(loss=1.0, coef_=w)
                if step.converged(False):
                    break

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        floor = median_seconds(bare, rounds)
        costs = [
            1e6 * (median_seconds(body, rounds) - floor) / passes for body in (number, number_and_vector)
        ]
    return [
        Figure("a pass that reports a number", costs[0], "us", 5.0),
        Figure("a pass that reports a number and 100 coefficients", costs[1], "us"),
    ]


def median_seconds(body: Callable[[], None], rounds: int) -> float:
    seconds = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        body()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[1:])


def import_cost(size: str, rounds: int) -> list[Figure]:
    """Seconds of a fresh interpreter, less those of an empty one; by turns, at full size after a warm-up."""
    statements = {
        "import tercet": "import tercet",
        "import sklearn": "import sklearn",
        "first LogisticRegression().fit on iris, tercet": FIRST_FIT.format(library="tercet"),
        "first LogisticRegression().fit on iris, scikit-learn": FIRST_FIT.format(library="sklearn"),
    }
    targets = {"import tercet": 0.2}
    seconds: dict[str, list[float]] = {name: [] for name in ["", *statements]}
    problems: dict[str, str] = {}
    warm_ups = 1 if size == "full" else 0
    for _ in range(warm_ups + rounds):
        for name in seconds:
            if name in problems:
                continue
            try:
                seconds[name].append(interpreter_seconds(statements.get(name, "pass")))
            except RuntimeError as error:
                problems[name] = plain(error)
    empty = statistics.median(seconds[""][warm_ups:])
    return [
        Figure(name, None, "s", targets.get(name), problems[name])
        if name in problems
        else Figure(name, statistics.median(seconds[name][warm_ups:]) - empty, "s", targets.get(name))
        for name in statements
    ]


def interpreter_seconds(statement: str) -> float:
    begin = time.perf_counter()
    with thread_limits():
        done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
    return time.perf_counter() - begin


ROWS = [
    Report("loop", "what the iteration loop adds to a pass, no callback registered", loop_cost, ("tercet",)),
    Report(
        name="import",
        work="fresh interpreter, warm kernel cache, less an empty interpreter",
        measure=import_cost,
        packages=("tercet", "scikit-learn"),
    ),
]
