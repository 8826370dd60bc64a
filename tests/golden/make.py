"""Models as this version saves them: `python -m tests.golden.make`, once for each release.

With names, as in `python -m tests.golden.make KMeans`, only those: newcomers before the release. A later version
must load them and predict the same; `test_golden.py` sees to it.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

import tercet
from tercet.io import save_model
from tests.conformance.population import CARDS, data, make, output, takes

HERE = Path(__file__).resolve().parent


def main(names: list[str]) -> None:
    folder = HERE / tercet.__version__
    folder.mkdir(exist_ok=True)
    answers = folder / "expected.json"
    expected = json.loads(answers.read_text()) if names else {}
    for card in [card for card in CARDS if not names or card.name in names]:
        X, y = data(card, n=24, d=3)
        # With a single component all is certain. (Those of a classifier are at most one fewer than its classes.)
        many = takes(card, "n_components") and card.task != "classification"
        settings = {"n_components": 3} if many else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(card, **settings).fit(X, y)
        save_model(folder / f"{card.name}.skops", model, {})
        expected[card.name] = np.round(output(model, X), 10).tolist()
    ordered = {card.name: expected[card.name] for card in CARDS if card.name in expected}
    answers.write_text(json.dumps(ordered, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
