"""The catalogue file is true, complete, and cheap to read."""

import importlib
import re
import subprocess
import sys

import numpy as np
import pytest

import tercet
from tercet.core import catalog

PLACE = re.compile(rf"({'|'.join(catalog.TEXTS)}) (ch\. \d+|app\. [A-F])(, .+)?$")
KINDS = {"estimator", "agent", "function", "scikit-learn"}


def test_file_is_true():
    assert catalog.FILE.read_text(encoding="utf-8") == catalog.render(), "run `make catalog`"


@pytest.mark.parametrize("card", tercet.methods(), ids=lambda card: f"{card.family}.{card.name}")
def test_card(card):
    thing = card.load()
    if card.kind == "scikit-learn":
        assert card.module.startswith("sklearn.")
        assert not hasattr(thing, "card")
    else:
        assert thing.card == card
    assert any("\u4e00" <= letter <= "\u9fff" for letter in card.zh), "the Chinese name has no Chinese in it"
    assert card.title
    assert card.title.endswith(".")
    assert card.kind in KINDS
    assert card.texts or card.peers, "where do the texts teach it, or who has it that users come from?"
    assert [place for place in card.texts if not PLACE.match(place)] == []
    if card.learns:
        assert card.model
        assert card.strategy


def test_the_package_is_public_and_a_distribution_is_no_estimator():
    from tercet.distributions import Bernoulli
    from tercet.losses import Hinge
    from tercet.metrics.information import entropy
    from tercet.rules.logic.unification import unify

    modules = [thing.card.module for thing in (Bernoulli, Hinge, entropy, unify)]
    assert modules == ["tercet.distributions", "tercet.losses", "tercet.metrics", "tercet.rules.logic"]
    assert hasattr(Bernoulli, "fit")
    assert Bernoulli.card.kind == "function"


def test_filters():
    assert "Perceptron" in [card.name for card in tercet.methods(text="Li ch. 2")]
    assert tercet.methods(text="Li ch. 200") == []
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
    """The registry of Li ch. 12, for the methods that are here."""
    cards = {card.name: card for card in tercet.methods(task="classification")}
    for name in ("Perceptron", "LogisticRegression", "MaxEnt"):
        assert cards[name].approach == "discriminative"
    assert cards["LinearDiscriminantAnalysis"].approach == "generative"
    assert {"iis", "gd", "bfgs"} <= set(cards["MaxEnt"].algorithms)
    assert "misclassified" in cards["Perceptron"].strategy
    assert {card.approach for card in tercet.methods()} == {"", "discriminative", "generative"}


# Table 12.1: task, generative or discriminative, loss, convex (after the table), and words of model, strategy and
# algorithms. The row of Boosting is AdaBoost's.
TABLE_12_1 = {
    "linear_model.Perceptron": (
        ("classification", "discriminative", "perceptron", False),
        (r"sign\(w·x \+ b\)", "misclassified", "stochastic gradient descent"),
    ),
    "neighbors.KNeighborsClassifier": (
        ("classification", "discriminative", "", None),
        ("k rows nearest", "majority", "kd-tree"),
    ),
    "neighbors.KNeighborsRegressor": (
        ("regression", "discriminative", "", None),
        ("k rows nearest", "neighbourhood", "kd-tree"),
    ),
    "naive_bayes.CategoricalNB": (
        ("classification", "generative", "log", False),
        (r"Π_j P\(x_j", "maximum posterior.*maximum likelihood", "count"),
    ),
    "naive_bayes.GaussianNB": (
        ("classification", "generative", "log", False),
        (r"Π_j N\(x_j", "maximum likelihood", "means and squares"),
    ),
    "tree.DecisionTreeClassifier": (
        ("classification", "discriminative", "log", False),
        ("tests of features from a root to a leaf", "entropy.*price for each leaf", "greatest fall"),
    ),
    "tree.DecisionTreeRegressor": (
        ("regression", "discriminative", "squared", False),
        ("tests of features from a root to a leaf", "price for each leaf", "greatest fall"),
    ),
    "linear_model.LogisticRegression": (
        ("classification", "discriminative", "logistic", True),
        (r"P\(Y=1\|x\)", "maximum likelihood.*penalty", "^iis$", "^gd$", "^bfgs$", "^dfp$"),
    ),
    "linear_model.MaxEnt": (
        ("classification", "discriminative", "logistic", True),
        (r"exp\(sum of w_i f_i", "largest likelihood", "^iis$", "^gd$", "^bfgs$"),
    ),
    "svm.SVC": (
        ("classification", "discriminative", "hinge", True),
        (r"K\(x_i, x\)", "C Σ ξ", "^smo$"),
    ),
    "ensemble.AdaBoostClassifier": (
        ("classification", "discriminative", "exponential", False),
        ("sum over m of alpha_m G_m", "exponential loss.*additive model", "forward stagewise"),
    ),
    "optimize.em": (
        ("optimisation", "", "log", False),
        ("Z latent", "maximum likelihood.*maximum a posteriori", "^em$"),
    ),
    "sequence.CategoricalHMM": (
        ("sequence labelling", "generative", "log", False),
        (r"P\(I, O\)", "maximum likelihood.*maximum a posteriori", "^counting$", "^Baum-Welch$"),
    ),
    "sequence.CRF": (
        ("sequence labelling", "discriminative", "log", True),
        (r"P\(y\|x\) = exp", "conditional likelihood.*penalties", "^iis$", "^gd$", "^bfgs$"),
    ),
}


@pytest.mark.parametrize("name", TABLE_12_1)
def test_every_column_of_table_12_1(name):
    from tercet.losses import LOSSES

    family, _, method = name.partition(".")
    card = getattr(importlib.import_module(f"tercet.{family}"), method).card
    columns, (model, strategy, *algorithms) = TABLE_12_1[name]
    assert (card.task, card.approach, card.loss, card.convex) == columns
    assert card.loss in {"", *LOSSES}
    assert re.search(model, card.model)
    assert re.search(strategy, card.strategy)
    known = [*card.algorithms, *card.algorithms.values()]
    for words in algorithms:
        assert any(re.search(words, one) for one in known), words


def test_losses_and_convexity_go_together():
    """A card that names a loss says whether its learning is a convex problem."""
    from tercet.losses import LOSSES

    cards = [card for card in tercet.methods() if card.loss]
    assert {card.loss for card in cards} <= set(LOSSES)
    assert all(card.convex is not None for card in cards)
    boosted = {card.name: (card.loss, card.convex) for card in cards if "Boosting" in card.name}
    assert (
        boosted["GradientBoostingClassifier"] == boosted["HistGradientBoostingClassifier"] == ("log", False)
    )
    assert (
        boosted["GradientBoostingRegressor"] == boosted["HistGradientBoostingRegressor"] == ("squared", False)
    )
    assert boosted["LinearBoostingClassifier"] == (
        "log",
        True,
    )  # a sum of linear members: logistic regression


@pytest.mark.parametrize("name", ["perceptron", "logistic", "hinge", "exponential"])
def test_the_losses_of_the_table_are_convex_in_the_margin(name):
    from tercet.losses import loss

    margin = np.linspace(-3, 3, 61)
    value = loss(name).value(np.ones(61), margin)
    assert (np.diff(value, 2) >= -1e-12).all()


# Table 22.1 (its columns are shifted in the scan): words of model, strategy and algorithms.
TABLE_22_1 = {
    "cluster.AgglomerativeClustering": (
        "tree of nested clusters",
        "smallest distance",
        "distance of the two nearest",
    ),
    "cluster.DivisiveClustering": ("tree of nested clusters", "largest diameter", "two farthest rows"),
    "cluster.KMeans": (
        "nearest of k centres",
        "squared distances to the centres",
        "to the means of their rows",
    ),
    "mixture.GaussianMixture": ("Gaussian", "maximum likelihood", "em E: responsibilities"),
    "decomposition.PCA": ("orthonormal", "largest variance", "singular value decomposition"),
    "topic.LSA": ("X ≈ TY", "least ||X - TY||", "svd truncated SVD"),
    "decomposition.NMF": ("X ≈ WH", "squared loss", "multiplicative rules"),
    "topic.PLSA": ("P(w,d)", "maximum likelihood", "E: P(z|w,d)"),
    "topic.LatentDirichletAllocation": ("Dir(α)", "posterior", "gibbs collapsed Gibbs sampling"),
    "graph.PageRank": ("Markov chain on a directed graph", "stationary distribution", "power method"),
}
# Table 22.2: the ways to learn models with latent variables.
TABLE_22_2 = {
    "optimize.em": ("iteration", "local optimum", "fairly fast", "easy", "simple models"),
    "graphical.mean_field": (
        "iteration; approx",
        "local optimum",
        "slower",
        "more complex",
        "complex models",
    ),
    "sampling.GibbsSampler": ("random sampling", "global optimum", "slower", "easy", "complex models"),
}


def cards_in(place):
    return {f"{card.family}.{card.name}": card for card in tercet.methods(text=place)}


def test_table_22_1():
    cards = cards_in("Li ch. 22, Table 22.1")
    assert set(cards) == set(TABLE_22_1)
    for name, (model, strategy, algorithm) in TABLE_22_1.items():
        card = cards[name]
        assert model in card.model
        assert strategy in card.strategy
        assert algorithm in " ".join(f"{key} {words}" for key, words in card.algorithms.items())


def test_table_22_2():
    cards = cards_in("Li ch. 22, Table 22.2")
    assert set(cards) == set(TABLE_22_2)
    for name, row in TABLE_22_2.items():
        traits = cards[name].traits
        assert list(traits) == ["principle", "convergence", "speed", "implementation", "suited to"]
        assert [words for words, said in zip(row, traits.values()) if words not in said] == []
