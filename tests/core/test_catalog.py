"""The catalogue file is true, complete, and cheap to read."""

import re
import subprocess
import sys

import pytest

import tercet
from tercet.core import catalog

PLACE = re.compile(r"00[0-4] (ch\. \d+|app\. [A-F])(, .+)?$")
KINDS = {"estimator", "function"}


def test_file_is_true():
    assert catalog.FILE.read_text(encoding="utf-8") == catalog.render(), "run `make catalog`"


@pytest.mark.parametrize("card", tercet.methods(), ids=lambda card: f"{card.family}.{card.name}")
def test_card(card):
    thing = card.load()
    assert thing.card == card
    assert any("\u4e00" <= letter <= "\u9fff" for letter in card.zh), "the Chinese name has no Chinese in it"
    assert card.title
    assert card.title.endswith(".")
    assert card.kind in KINDS
    assert card.texts, "where do the texts teach it?"
    assert [place for place in card.texts if not PLACE.match(place)] == []
    if card.kind == "estimator":
        assert card.model
        assert card.strategy


def test_the_package_is_public_and_a_distribution_is_no_estimator():
    from tercet.distributions import Bernoulli
    from tercet.losses import Hinge
    from tercet.metrics.information import entropy

    modules = [thing.card.module for thing in (Bernoulli, Hinge, entropy)]
    assert modules == ["tercet.distributions", "tercet.losses", "tercet.metrics"]
    assert hasattr(Bernoulli, "fit")
    assert Bernoulli.card.kind == "function"


def test_filters():
    assert "Perceptron" in [card.name for card in tercet.methods(text="000 ch. 2")]
    assert tercet.methods(text="000 ch. 200") == []
    assert {card.family for card in tercet.methods(family="linear_model")} == {"linear_model"}


def test_reading_it_loads_nothing_heavy():
    code = """if True:
        import sys, tercet
        assert tercet.methods()
        print([name for name in ("numpy", "scipy", "numba", "sklearn", "torch") if name in sys.modules])
    """
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_dir_and_missing_names():
    assert "methods" in dir(tercet)
    with pytest.raises(AttributeError, match="no_such_family"):
        tercet.no_such_family  # noqa: B018


def test_table_12_1():
    """The registry of 000 ch. 12, for the methods that are here."""
    cards = {card.name: card for card in tercet.methods(task="classification")}
    for name in ("Perceptron", "LogisticRegression", "MaxEnt"):
        assert cards[name].approach == "discriminative"
    assert cards["LinearDiscriminantAnalysis"].approach == "generative"
    assert {"iis", "gd", "bfgs"} <= set(cards["MaxEnt"].algorithms)
    assert "misclassified" in cards["Perceptron"].strategy
    assert {card.approach for card in tercet.methods()} == {"", "discriminative", "generative"}
