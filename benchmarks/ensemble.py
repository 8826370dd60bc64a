"""Rows of forests and of AdaBoost."""

from __future__ import annotations

from benchmarks.harness import Contender, Data, Result, Row
from benchmarks.tree import fitted, make_rows, minus_score

TREES, STUMPS = 100, 200


def forest_ours(data: Data) -> Result:
    from tercet.ensemble import RandomForestClassifier

    return fitted(RandomForestClassifier(TREES, n_jobs=2, random_state=0), data)


def forest_sklearn(data: Data) -> Result:
    from sklearn.ensemble import RandomForestClassifier

    return fitted(RandomForestClassifier(TREES, n_jobs=2, random_state=0), data)


def forest_sklearnex(data: Data) -> Result:
    from sklearnex.ensemble import RandomForestClassifier  # type: ignore[import-not-found]

    return fitted(RandomForestClassifier(TREES, n_jobs=2, random_state=0), data)


def forest_snapml(data: Data) -> Result:
    from snapml import RandomForestClassifier  # type: ignore[import-not-found]

    return fitted(RandomForestClassifier(TREES, n_jobs=2, random_state=0), data)


def regression_forest_ours(data: Data) -> Result:
    from tercet.ensemble import RandomForestRegressor

    return fitted(RandomForestRegressor(TREES, max_features=1 / 3, n_jobs=2, random_state=0), data)


def regression_forest_sklearn(data: Data) -> Result:
    from sklearn.ensemble import RandomForestRegressor

    return fitted(RandomForestRegressor(TREES, max_features=1 / 3, n_jobs=2, random_state=0), data)


def regression_forest_sklearnex(data: Data) -> Result:
    from sklearnex.ensemble import RandomForestRegressor

    return fitted(RandomForestRegressor(TREES, max_features=1 / 3, n_jobs=2, random_state=0), data)


def extra_trees_ours(data: Data) -> Result:
    from tercet.ensemble import ExtraTreesClassifier

    return fitted(ExtraTreesClassifier(TREES, n_jobs=2, random_state=0), data)


def extra_trees_sklearn(data: Data) -> Result:
    from sklearn.ensemble import ExtraTreesClassifier

    return fitted(ExtraTreesClassifier(TREES, n_jobs=2, random_state=0), data)


def extra_trees_sklearnex(data: Data) -> Result:
    from sklearnex.ensemble import ExtraTreesClassifier

    return fitted(ExtraTreesClassifier(TREES, n_jobs=2, random_state=0), data)


def adaboost_ours(data: Data) -> Result:
    from tercet.ensemble import AdaBoostClassifier

    return fitted(AdaBoostClassifier(n_estimators=STUMPS, n_jobs=2), data)


def adaboost_sklearn(data: Data) -> Result:
    from sklearn.ensemble import AdaBoostClassifier

    return fitted(AdaBoostClassifier(n_estimators=STUMPS), data)


FULL = {"n": 50_000, "d": 20, "tests": 20_000, "rough": 1.0}
SMOKE = {"n": 1_500, "d": 8, "tests": 500, "rough": 0.0}
SKLEARN, SKLEARNEX, OURS = ("sklearn.ensemble",), ("sklearnex.ensemble",), ("tercet.ensemble",)
ACCURACY = {"quality": minus_score, "tolerance": 0.005, "figure": "minus the accuracy on fresh rows"}
CLASSES = {"full": {**FULL, "classes": True}, "smoke": {**SMOKE, "classes": True}}
ROWS = [
    Row(
        name="forest",
        work="random forest of 100 trees until the leaves are pure, two classes; {n} x {d}",
        sizes=CLASSES,
        data=make_rows,
        ours=Contender(forest_ours, OURS, "tercet"),
        peers={
            "scikit-learn-intelex": Contender(forest_sklearnex, SKLEARNEX, "scikit-learn-intelex"),
            "snapml": Contender(forest_snapml, ("snapml",), "snapml"),
            "scikit-learn": Contender(forest_sklearn, SKLEARN, "scikit-learn"),
        },
        **ACCURACY,
    ),
    Row(
        name="forest-regressor",
        work="random forest of 100 trees until the leaves are pure, a third of the columns at a node; {n} x {d}",
        sizes={"full": {**FULL, "n": 20_000, "classes": False}, "smoke": {**SMOKE, "classes": False}},
        data=make_rows,
        ours=Contender(regression_forest_ours, OURS, "tercet"),
        peers={
            "scikit-learn-intelex": Contender(regression_forest_sklearnex, SKLEARNEX, "scikit-learn-intelex"),
            "scikit-learn": Contender(regression_forest_sklearn, SKLEARN, "scikit-learn"),
        },
        quality=minus_score,
        tolerance=0.005,
        figure="minus R² on fresh rows",
    ),
    Row(
        name="extra-trees",
        work="extremely randomised trees, 100 of them until the leaves are pure, two classes; {n} x {d}",
        sizes=CLASSES,
        data=make_rows,
        ours=Contender(extra_trees_ours, OURS, "tercet"),
        peers={
            "scikit-learn-intelex": Contender(extra_trees_sklearnex, SKLEARNEX, "scikit-learn-intelex"),
            "scikit-learn": Contender(extra_trees_sklearn, SKLEARN, "scikit-learn"),
        },
        **ACCURACY,
    ),
    Row(
        name="adaboost",
        work="AdaBoost of 200 stumps, two classes; {n} x {d}",
        sizes={
            "full": {**FULL, "n": 20_000, "classes": True},
            "smoke": {**SMOKE, "classes": True},
        },
        data=make_rows,
        ours=Contender(adaboost_ours, OURS, "tercet"),
        peers={"scikit-learn": Contender(adaboost_sklearn, SKLEARN, "scikit-learn", threads=1)},
        **ACCURACY,
    ),
]
