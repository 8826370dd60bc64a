"""What holds for whole runs: warming, and the same answer twice."""

import subprocess
import sys

import numpy as np
import pytest

import tercet
from tercet.cli.warm import variants


def test_warm_goes_through_every_algorithm():
    (card,) = [card for card in tercet.methods() if card.name == "LogisticRegression"]
    solvers = {model.solver for model in variants(card)}
    assert {"lbfgs", "dfp", "iis", "newton", "sgd"} <= solvers


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_same_answer_twice():
    """A run in a fresh interpreter, and one in this, agree to the bit."""
    code = (
        "import numpy as np; from tercet.linear_model import LogisticRegression as L, Perceptron as P;"
        "r = np.random.default_rng(0); X = r.normal(size=(300, 5)); y = r.integers(0, 3, 300);"
        "models = L(n_jobs=2), P(max_iter=5, tol=None);"
        "answer = *(model.fit(X, y).coef_.tobytes().hex() for model in models),; print(*answer)"
    )
    here: dict = {}
    exec(code, here)
    command = [sys.executable, "-W", "ignore", "-c", code]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert tuple(fresh.split()) == here["answer"]
    assert np.all([len(part) > 100 for part in here["answer"]])
