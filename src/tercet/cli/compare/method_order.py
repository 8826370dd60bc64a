"""Order in which methods are tried: one of each family first, strongest first, slow families last.

A small budget then has a good answer, and a varied one. The order comes from what usually does well on tables,
never from the table at hand: choosing by scores is what cross-validation is for.
"""

from __future__ import annotations

from tercet.core.catalog import Card

# The first of each family in use leads it; the rest follow after all leaders.
STRONGEST = (
    *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    *("LogisticRegression", "RidgeCV", "Ridge"),
    *("SVC", "SVR"),
    *("LinearDiscriminantAnalysis", "KNeighborsClassifier", "KNeighborsRegressor"),
    *("GaussianNB", "DecisionTreeClassifier", "DecisionTreeRegressor"),
    *("KMeans", "GaussianMixture"),
    *("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
    *("GradientBoostingClassifier", "GradientBoostingRegressor", "AgglomerativeClustering"),
    *("MLPClassifier", "MLPRegressor"),
    *("LinearRegression", "LassoCV", "PoissonRegressor"),
)
SLOW_FAMILIES = ("svm", "kernel_machines", "neural_network")
# Quick on any table: what is left when a budget is too short for anything.
QUICK = ("GaussianNB", "Ridge", "KMeans", "DecisionTreeClassifier", "DecisionTreeRegressor")


def leaders(cards: list[Card]) -> list[Card]:
    """The strongest method of each family, strongest first."""
    found: dict[str, Card] = {}
    for card in sorted(cards, key=_strength):
        if card.name in STRONGEST:
            found.setdefault(card.family, card)
    return list(found.values())


def in_order(cards: list[Card]) -> list[Card]:
    """The methods in the order of their trials: the leaders, and then the others."""
    first = leaders(cards)
    rest = [card for card in cards if card not in first]
    return [*first, *sorted(rest, key=lambda card: (card.family in SLOW_FAMILIES, _strength(card)))]


def _strength(card: Card) -> int:
    return STRONGEST.index(card.name) if card.name in STRONGEST else len(STRONGEST)
