"""What `make run` and `python -m tercet.warm` do."""

import subprocess
import sys

import numpy as np
from sklearn.datasets import make_classification

import tercet
from tercet.linear_model.__main__ import compare, table, width
from tercet.warm import variants


def test_make_run_compares_the_linear_family():
    answer = subprocess.run(
        [sys.executable, "-m", "tercet.linear_model"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("Breast cancer, 569 rows")
    names = {line.split()[0] for line in lines if line}
    wanted = {card.name for card in tercet.methods(family="linear_model") if card.kind == "estimator"}
    assert wanted <= names, wanted - names
    assert answer.stderr == ""
    diabetes = lines[next(k for k, line in enumerate(lines) if line.startswith("Diabetes")) :]
    assert any(line.startswith("PolynomialRegression degree=2 ") for line in diabetes)
    assert [line.split()[0] for line in diabetes if line][-2] == "(always"  # nothing is worse than a constant


def test_best_method_comes_first():
    X, y = make_classification(120, 5, random_state=0)
    from sklearn.dummy import DummyClassifier

    rows = compare("classification", X, y, DummyClassifier, folds=2)
    scores = [float(row[2]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[-1][0] == "(always the same)"


def test_columns_line_up_with_chinese():
    row = ("Perceptron", "感知机", "0.9", "0.1", "0.01", "f(x)")
    lines = table([row, ("X", "线性判别分析", "1", "2", "3", "4")]).splitlines()
    starts = {width(line[: line.index(cell)]) for line, cell in zip(lines[1:], ("0.9", "1"))}
    assert len(starts) == 1


def test_warm_goes_through_every_algorithm():
    (card,) = [card for card in tercet.methods() if card.name == "LogisticRegression"]
    solvers = {model.solver for model in variants(card)}
    assert {"lbfgs", "dfp", "iis", "newton", "sgd"} <= solvers


def test_same_answer_twice():
    """Two runs in fresh interpreters agree to the bit."""
    code = (
        "import numpy as np; from tercet.linear_model import LogisticRegression as L, Perceptron as P;"
        "r = np.random.default_rng(0); X = r.normal(size=(300, 5)); y = r.integers(0, 3, 300);"
        "models = L(n_jobs=2), P(max_iter=5, tol=None);"
        "print(*(model.fit(X, y).coef_.tobytes().hex() for model in models))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(answers) == 1
    assert np.all([len(part) > 100 for part in answers.pop().split()])
