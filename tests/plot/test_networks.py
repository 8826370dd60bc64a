"""Pictures of Bayesian networks and of messages."""

import numpy as np
import pytest

from tercet.graphical import BayesianNetwork, BayesianNetworkClassifier, belief_propagation
from tercet.plot import plot_messages, plot_model, plot_network
from tests.graphical.networks import SPRINKLER


def words(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_a_network_with_its_tables():
    ax = plot_network(BayesianNetwork.from_tables(SPRINKLER))
    said = words(ax)
    assert {"C", "S", "R", "W"} <= set(said)
    assert "0.50 0.50" in said
    assert any(text.splitlines()[0] == "0 0  1.00 0.00" for text in said)
    assert len([text for text in ax.texts if getattr(text, "arrow_patch", None)]) == 4
    assert set(words(plot_network(BayesianNetwork.from_tables(SPRINKLER), tables=False))) == {
        "C",
        "S",
        "R",
        "W",
    }


def test_of_many_nodes_the_best_connected():
    edges = [(k, k + 1) for k in range(49)]
    X = np.random.default_rng(0).integers(2, size=(60, 50))
    assert len(words(plot_network(BayesianNetwork(edges).fit(X), most=10))) == 10


def test_the_report_draws_networks():
    model = BayesianNetworkClassifier().fit([["a"], ["b"], ["a"], ["b"]], [0, 1, 0, 1])
    assert "class" in words(plot_model(model))


def test_messages():
    tree = {("1", "2"): [[1, 2], [3, 1]], ("2", "3"): [[2, 1], [1, 3]], ("2", "4"): [[1, 1], [2, 5]]}
    said = words(plot_messages(belief_propagation(tree)))
    assert len([text for text in said if "(" in text]) == 6
    assert any(text.endswith("(2, 7)") for text in said)
    with pytest.raises(ValueError, match="at most 2 variables; there are 4"):
        plot_messages(belief_propagation(tree), most=2)
