"""Search spaces of `tercet compare --tune`: a few settings of each method beside its defaults.

Each space is small, because it is searched inside every fold, and holds what usually matters most: how strong a
penalty is, how wide a kernel, how deep a tree. Methods that choose their own settings (LassoCV) and those with
nothing to choose have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

Space = list[dict[str, Any]]


def _each(**values: Iterable[Any]) -> Space:
    """All combinations.

    Examples
    --------
    >>> _each(C=(1, 10), gamma=("scale",))
    [{'C': 1, 'gamma': 'scale'}, {'C': 10, 'gamma': 'scale'}]
    """
    return [dict(zip(values, chosen)) for chosen in product(*values.values())]


_SHARES = (0.01, 0.1, 10.0, 100.0)  # around a default of 1
_KERNEL: Space = [{"gamma": 0.1}, {"gamma": 0.01}, {"gamma": 1.0}]
_FOREST: Space = [
    *_each(min_samples_leaf=(3, 10)),
    *_each(max_features=(0.3, 0.7)),
    {"max_features": 0.3, "min_samples_leaf": 3},
]
_TREE: Space = [
    *_each(max_depth=(3, 6)),
    *_each(min_samples_leaf=(5, 20)),
    {"max_depth": 6, "min_samples_leaf": 20},
]
_BOOST: Space = [
    {"max_depth": 2, "n_estimators": 200},
    {"max_depth": 5, "n_estimators": 50},
    {"learning_rate": 0.05, "n_estimators": 200},
    {"subsample": 0.5, "n_estimators": 200},
]
_HIST: Space = [
    {"learning_rate": 0.05, "max_iter": 200},
    {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 8},
    {"learning_rate": 0.2, "max_iter": 50},
    {"max_leaf_nodes": 8, "l2_regularization": 1.0},
    {"min_samples_leaf": 5},
]
_NEIGHBORS: Space = [{"n_neighbors": 1}, *_each(n_neighbors=(5, 10, 20, 40), weights=("distance",))]
_COUNTED = _each(alpha=(0.01, 0.1, 10.0))
_PERCEPTRON = [
    *_each(alpha=(0.01, 1.0)),
    {"hidden_layer_sizes": (50, 50)},
    {"early_stopping": True, "learning_rate_init": 0.01},
]
_SVM = [*_each(C=(0.1, 10.0, 100.0)), *_each(C=(1.0, 10.0), gamma=(0.01, 0.1))]
_LINEAR_NET = _each(alpha=(0.001, 0.01, 0.1), l1_ratio=(0.2, 0.8))

SPACES: dict[str, Space] = {
    "AdaBoostClassifier": [{"n_estimators": 200}, {"n_estimators": 200, "learning_rate": 0.3}],
    "AdaBoostRegressor": [{"n_estimators": 200}, {"n_estimators": 200, "learning_rate": 0.3}],
    "AODE": _each(n_bins=(3, 10)),
    "BaggingClassifier": [{"n_estimators": 50}, {"n_estimators": 50, "max_features": 0.5}],
    "BaggingRegressor": [{"n_estimators": 50}, {"n_estimators": 50, "max_features": 0.5}],
    "BernoulliNB": _COUNTED,
    "CategoricalNB": _COUNTED,
    "CentralSVC": _SVM,
    "ComplementNB": _COUNTED,
    "DecisionTreeClassifier": _TREE,
    "DecisionTreeRegressor": _TREE,
    "ElasticNet": _LINEAR_NET,
    "ExtraTreeClassifier": _TREE,
    "ExtraTreeRegressor": _TREE,
    "ExtraTreesClassifier": _FOREST,
    "ExtraTreesRegressor": _FOREST,
    "GammaRegressor": _each(alpha=(0.001, 0.01, 0.1)),
    "GaussianNB": _each(var_smoothing=(1e-6, 1e-3, 1e-1)),
    "GeneralizedLinearRegressor": _each(alpha=(0.01, 0.1, 1.0)),
    "GradientBoostingClassifier": _BOOST,
    "GradientBoostingRegressor": _BOOST,
    "HingeSVC": _each(lam=(0.001, 0.01, 0.1)),
    "HistGradientBoostingClassifier": _HIST,
    "HistGradientBoostingRegressor": _HIST,
    "KDB": _each(n_bins=(3, 10)),
    "KernelFisherDiscriminant": [*_KERNEL, {"mu": 0.1}, {"mu": 1e-5}],
    "KernelLogisticRegression": [*_each(C=(0.1, 10.0)), *_KERNEL],
    "KernelPerceptron": _KERNEL,
    "KernelRidge": [*_each(alpha=(0.1, 1.0), kernel=("rbf",), gamma=(0.01, 0.1)), {"alpha": 10.0}],
    "KNeighborsClassifier": _NEIGHBORS,
    "KNeighborsRegressor": _NEIGHBORS,
    "Lasso": _each(alpha=(0.001, 0.01, 0.1)),
    "LinearDiscriminantAnalysis": _each(solver=("lsqr",), shrinkage=("auto", 0.1, 0.5)),
    "LinearSVC": _each(C=_SHARES),
    "LinearSVR": _each(C=_SHARES),
    "LogisticRegression": _each(C=_SHARES),
    "LSSVC": [*_each(mu=(0.1, 10.0)), *_KERNEL],
    "LSSVR": [*_each(mu=(0.1, 10.0)), *_KERNEL],
    "LVQ": [*_each(n_prototypes=(3, 10)), {"algorithm": "lvq2", "n_prototypes": 3}],
    "MaxEnt": _each(C=_SHARES),
    "MLPClassifier": _PERCEPTRON,
    "MLPRegressor": [
        *_each(alpha=(0.01, 10.0), max_iter=(200,)),
        {"hidden_layer_sizes": (20,)},
        {"solver": "adam", "early_stopping": True, "learning_rate_init": 0.01, "max_iter": 200},
    ],
    "MixedNB": _COUNTED,
    "MulticategorySVC": [*_each(lam=(0.001, 0.1)), *_KERNEL],
    "MultinomialNB": _COUNTED,
    "NearestCentroid": _each(shrink_threshold=(0.5, 1.0, 2.0)),
    "NuSVC": [*_each(nu=(0.1, 0.3)), *_KERNEL],
    "NuSVR": [*_each(C=(10.0, 100.0, 1000.0)), *_KERNEL],
    "ObliqueTreeClassifier": _each(max_depth=(3, 6)),
    "PenalizedClassifier": _each(C=_SHARES),
    "PenalizedRegressor": _each(alpha=(0.001, 0.01, 1.0)),
    "Perceptron": [{"variant": "averaged"}, {"penalty": "l2"}, {"penalty": "l2", "alpha": 0.001}],
    "PiecewiseLinearDiscriminant": _each(n_subclasses=(1, 3), learning_rate=("geometric",)),
    "PiecewiseLinearDistance": _each(n_subclasses=(1, 4, 8)),
    "PiecewiseLinearTree": _each(max_depth=(3, 6)),
    "PoissonRegressor": _each(alpha=(0.001, 0.01, 0.1)),
    "PolynomialRegression": _each(degree=(2,), alpha=(0.1, 1.0, 10.0)),
    "QuadraticDiscriminantAnalysis": _each(reg_param=(0.01, 0.1, 0.5)),
    "RandomForestClassifier": _FOREST,
    "RandomForestRegressor": _FOREST,
    "Ridge": _each(alpha=(0.01, 0.1, 10.0, 100.0, 1000.0)),
    "RidgeClassifier": _each(alpha=(0.01, 0.1, 10.0, 100.0)),
    "SVC": _SVM,
    "SVR": [*_each(C=(10.0, 100.0, 1000.0)), *_each(C=(10.0, 100.0), gamma=(0.01, 0.1))],
    "TAN": _each(n_bins=(3, 10)),
    "TweedieRegressor": _each(alpha=(0.001, 0.01, 0.1)),
}


def search_space(name: str) -> Space:
    """Settings to try beside the defaults.

    Examples
    --------
    >>> search_space("LogisticRegression")[0], search_space("LinearRegression")
    ({'C': 0.01}, [])
    """
    return SPACES.get(name, [])
