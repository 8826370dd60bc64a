"""Models as this version saves them: `python -m tests.golden.make`, once for each release.

A later version must load them and predict the same; `test_golden.py` sees to it.
"""

import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import skops.io

import tercet
from tests.conformance.population import CARDS, data, make, output

HERE = Path(__file__).resolve().parent


def main() -> None:
    folder = HERE / tercet.__version__
    folder.mkdir(exist_ok=True)
    expected = {}
    for card in CARDS:
        X, y = data(card, n=24, d=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(card).fit(X, y)
        skops.io.dump(model, folder / f"{card.name}.skops", compression=zipfile.ZIP_DEFLATED)
        expected[card.name] = np.round(output(model, X), 10).tolist()
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
