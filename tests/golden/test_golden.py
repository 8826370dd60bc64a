"""Models saved by every release so far load, and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest

import tercet
from tercet.io import load_model
from tests.conformance.population import CARDS, data, output

HERE = Path(__file__).resolve().parent
RELEASES = sorted(folder.name for folder in HERE.iterdir() if (folder / "expected.json").exists())
CARD = {card.name: card for card in CARDS}
FILES = [(release, file.stem) for release in RELEASES for file in sorted((HERE / release).glob("*.skops"))]


@pytest.mark.parametrize(("release", "name"), FILES)
def test_saved_model(release, name):
    file = HERE / release / f"{name}.skops"
    expected = json.loads((HERE / release / "expected.json").read_text())[name]
    model, _ = load_model(file)
    X, _ = data(CARD[name], n=24, d=3)
    np.testing.assert_allclose(output(model, X), expected, rtol=1e-7, atol=1e-8)


def test_this_version_has_its_files():
    assert tercet.__version__ in RELEASES
    assert {name for release, name in FILES if release == tercet.__version__} == set(CARD)
