"""What holds for whole runs: warming, and the same answer twice."""

import subprocess
import sys

import numpy as np

import tercet
from tercet.cli.warm import variants


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
