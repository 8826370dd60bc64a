"""Rows of the rule learners: RIPPER and CN2 on mixed columns.

``python -m benchmarks.rules`` compares the lists of CN2 over several draws of the row's data (`--draws 8`).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row

RULE_PRICE = 0.001  # of a rule, in accuracy: at equal accuracy no more rules than the peers'


def make_mixed(
    rng: np.random.Generator, n: int, d: int, tests: int, rules: int, values: int, noise: float
) -> Data:
    """Normal numbers and evenly drawn categories, half of the columns each. Rows that one of `rules` conjunctions
    of two thresholds and one category covers are positive; a share `noise` of the labels is flipped."""
    half = d // 2
    numbers = rng.standard_normal((n + tests, half))
    codes = rng.integers(0, values, (n + tests, d - half))
    y = np.zeros(n + tests, dtype=np.int64)
    for _ in range(rules):
        columns = rng.choice(half, 2, replace=False)
        category = rng.integers(0, d - half)
        chosen = np.isin(codes[:, category], rng.choice(values, 2, replace=False))
        signs = rng.choice([-1.0, 1.0], 2)
        y |= (signs * numbers[:, columns] > [-0.5, 0.0]).all(axis=1) & chosen
    clean = y[n:].copy()
    flipped = rng.random(n + tests) < noise
    y = np.where(flipped, 1 - y, y)
    return {"numbers": numbers, "codes": codes, "y": y[:n], "y_test": clean}


def frames(data: Data) -> Data:
    """The rows as pandas frames, categories as strings; part of no contender's time."""
    import pandas as pd

    numbers, codes = data["numbers"], data["codes"]
    table = pd.DataFrame(numbers, columns=[f"n{j}" for j in range(numbers.shape[1])])
    for j in range(codes.shape[1]):
        table[f"c{j}"] = [f"v{code}" for code in codes[:, j].tolist()]
    n = len(data["y"])
    return {**data, "X": table[:n], "X_test": table[n:]}


def tables(data: Data) -> Data:
    """The rows as tables of Orange."""
    import Orange.data as od  # type: ignore[import-not-found]

    numbers, codes = data["numbers"], data["codes"]
    columns = [od.ContinuousVariable(f"n{j}") for j in range(numbers.shape[1])]
    words = [f"v{k}" for k in range(int(codes.max()) + 1)]
    columns += [od.DiscreteVariable(f"c{j}", words) for j in range(codes.shape[1])]
    domain = od.Domain(columns, od.DiscreteVariable("y", ("0", "1")))
    n, X = len(data["y"]), np.hstack([numbers, codes.astype(float)])
    rows = od.Table.from_numpy(domain, X[:n], data["y"].astype(float))
    return {**data, "rows": rows, "tests": od.Table.from_numpy(domain, X[n:], data["y_test"].astype(float))}


def error_and_rules(data: Data, result: Result) -> float:
    """Minus the accuracy on fresh rows without noise, and a price for each rule."""
    right = np.asarray(result["answer"], dtype=np.int64) == data["y_test"]
    return -float(right.mean()) + RULE_PRICE * float(result["rules"])


def fitted(model: Any, data: Data) -> Result:
    model.fit(data["X"], data["y"])
    return {"answer": model.predict(data["X_test"]), "rules": len(model.ruleset_)}


def ripper_ours(data: Data) -> Result:
    from tercet.rules import RIPPERClassifier

    return fitted(RIPPERClassifier(class_order=[1, 0], random_state=0), data)


def ripper_wittgenstein(data: Data) -> Result:
    from wittgenstein import RIPPER  # type: ignore[import-not-found]

    model = RIPPER(random_state=0)
    model.fit(data["X"], y=data["y"], pos_class=1)
    return {"answer": np.asarray(model.predict(data["X_test"])), "rules": len(model.ruleset_.rules)}


def cn2_ours(data: Data) -> Result:
    from tercet.rules import CN2Classifier

    return fitted(CN2Classifier(), data)


def cn2_orange(data: Data) -> Result:
    from Orange.classification.rules import CN2Learner, LaplaceAccuracyEvaluator  # type: ignore[import-not-found]

    learner = CN2Learner()
    learner.rule_finder.quality_evaluator = LaplaceAccuracyEvaluator()
    learner.rule_finder.significance_validator.default_alpha = 0.01
    model = learner(data["rows"])
    return {"answer": np.asarray(model(data["tests"])), "rules": len(model.rule_list) - 1}


FULL = {"n": 20_000, "d": 30, "tests": 10_000, "rules": 5, "values": 5, "noise": 0.05}
SMOKE = {"n": 600, "d": 6, "tests": 300, "rules": 2, "values": 3, "noise": 0.0}
FIGURE = "minus the accuracy on fresh rows, plus 0.001 for each rule"
ROWS = [
    Row(
        name="ripper",
        work="RIPPER, two optimisation passes; {n} x {d}, half of the columns categories",
        sizes={"full": FULL, "smoke": SMOKE},
        data=make_mixed,
        ours=Contender(ripper_ours, ("tercet.rules", "pandas"), "tercet", threads=1, prepare=frames),
        peers={
            "wittgenstein": Contender(
                ripper_wittgenstein,
                ("wittgenstein",),
                "wittgenstein",
                threads=1,
                prepare=frames,
                once=True,
                note="bins numbers",
            )
        },
        quality=error_and_rules,
        tolerance=0.005,
        figure=FIGURE,
    ),
    Row(
        name="cn2",
        work="ordered CN2 by Laplace's estimate, significance 0.99, beam of 5; {n} x {d}, half of them categories",
        # no noise: the test of CN2 is of each rule by itself, and many rules of few rows pass it by chance
        sizes={"full": {**FULL, "d": 10, "rules": 2, "noise": 0.0, "n": 5_000}, "smoke": SMOKE},
        data=make_mixed,
        ours=Contender(cn2_ours, ("tercet.rules", "pandas"), "tercet", threads=1, prepare=frames),
        peers={"Orange": Contender(cn2_orange, ("Orange",), "Orange3", threads=1, prepare=tables, once=True)},
        quality=error_and_rules,
        tolerance=0.005,
        figure=FIGURE,
    ),
]


def compare_lists(draws: int) -> None:
    """Print the number of rules and the accuracy of both lists of CN2 on each draw, and their means."""
    sizes = next(row for row in ROWS if row.name == "cn2").sizes["full"]
    print("draw: rules and accuracy of tercet, of Orange")
    found = []
    for draw in range(draws):
        data = make_mixed(np.random.default_rng(draw), **sizes)
        for learn, rows in ((cn2_ours, frames(data)), (cn2_orange, tables(data))):
            result = learn(rows)
            hits = np.asarray(result["answer"]).astype(int) == data["y_test"]
            found.append((float(result["rules"]), float(hits.mean())))
        print(f"{draw}: {found[-2]}, {found[-1]}", flush=True)
    print("mean:", np.mean(found[::2], axis=0).round(4), np.mean(found[1::2], axis=0).round(4))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=compare_lists.__doc__)
    parser.add_argument("--draws", type=int, default=8)
    compare_lists(parser.parse_args().draws)
