"""Tests of scikit-learn that use nothing of ours are recognised."""

import functools

import pytest
import sklearn.tree
from sklearn.linear_model import Ridge as Theirs

from tercet.linear_model import Ridge
from tests.peers.reach import Reach


def fit(model):
    return model.fit([[0.0], [1.0]], [0.0, 1.0])


def fit_ours():
    return fit(Ridge())


def through_a_helper():
    return [fit_ours() for _ in range(2)]


def through_a_module():
    return sklearn.tree.plot_tree


def through_an_import():
    from sklearn.svm import SVC

    return SVC


def through_a_table():
    return KINDS["ours"]


def alone():
    return fit(Theirs())


def recursive(n):
    return recursive(n - 1) if n else alone()


class Derived(Ridge):
    pass


KINDS = {"ours": [functools.partial(Ridge, alpha=2.0)]}
NAMES = ("Ridge", "SVC", "plot_tree")


@pytest.mark.parametrize(
    "thing",
    [
        Ridge,
        Ridge(),
        Derived,
        {"estimator": (Theirs(), [Ridge()])},
        fit_ours,
        through_a_helper,
        through_a_module,
        through_an_import,
        through_a_table,
        lambda: through_a_helper,
    ],
)
def test_what_is_ours_is_found(thing):
    assert Reach(NAMES).of([thing])


@pytest.mark.parametrize("thing", [Theirs, Theirs(), fit, alone, recursive, {"a": [1.0, None, "Ridge"]}])
def test_what_is_not_ours_is_not(thing):
    reach = Reach(NAMES)
    assert not reach.of([thing])
    assert not reach.of([thing])  # as it is known by then
    assert reach.of([thing, fit_ours])
