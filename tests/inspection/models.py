"""Small models of all kinds that are sums of trees, with the rows to ask them about."""

import numpy as np

from tercet.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tercet.tree import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(60, 4)).round(1)
NUMBERS[rng.random(NUMBERS.shape) < 0.1] = np.nan
WHOLE = np.nan_to_num(NUMBERS)
TARGET = WHOLE[:, 0] + WHOLE[:, 1] * WHOLE[:, 2]
CLASSES = np.array(["a", "b", "c"])[np.digitize(TARGET, [-0.5, 0.5])]
SIDES = np.where(TARGET > 0, "yes", "no")
WORDS = np.array(["p", "q", "r", "s"], dtype=object)[rng.integers(4, size=60)]
MIXED = np.column_stack([NUMBERS[:, :2].astype(object), WORDS])
MIXED_TARGET = WHOLE[:, 0] + 2.0 * (WORDS == "p") - (WORDS == "r")
ASKED = MIXED[:6].copy()  # with a category that no model knows, and one that is missing
ASKED[0, 2], ASKED[1, 2] = "unknown", None

SMALL = {"n_estimators": 3, "random_state": 0}
MODELS = {
    "tree": lambda: (DecisionTreeRegressor(max_depth=5).fit(NUMBERS, TARGET), NUMBERS),
    "tree of classes": lambda: (DecisionTreeClassifier(max_depth=4).fit(NUMBERS, CLASSES), NUMBERS),
    "tree of one class": lambda: (DecisionTreeClassifier().fit(NUMBERS, ["a"] * 60), NUMBERS),
    "two outputs": lambda: (
        DecisionTreeRegressor(max_depth=3).fit(NUMBERS, np.column_stack([TARGET, -TARGET])),
        NUMBERS,
    ),
    "forest of classes": lambda: (
        RandomForestClassifier(max_depth=4, **SMALL).fit(NUMBERS, CLASSES),
        NUMBERS,
    ),
    "forest": lambda: (RandomForestRegressor(max_depth=4, **SMALL).fit(NUMBERS, TARGET), NUMBERS),
    "extra trees": lambda: (ExtraTreesRegressor(**SMALL).fit(NUMBERS, TARGET), NUMBERS),
    "bagging of classes": lambda: (
        BaggingClassifier(max_features=3, **SMALL).fit(NUMBERS, CLASSES),
        NUMBERS,
    ),
    "bagging": lambda: (BaggingRegressor(max_features=2, **SMALL).fit(NUMBERS, TARGET), NUMBERS),
    "boosting of two classes": lambda: (
        GradientBoostingClassifier(n_estimators=3).fit(NUMBERS, SIDES),
        NUMBERS,
    ),
    "boosting of classes": lambda: (
        GradientBoostingClassifier(n_estimators=2).fit(NUMBERS, CLASSES),
        NUMBERS,
    ),
    "histogram boosting": lambda: (
        HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3).fit(NUMBERS, TARGET),
        NUMBERS,
    ),
    "histogram boosting of classes": lambda: (
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=3).fit(NUMBERS, CLASSES),
        NUMBERS,
    ),
    "counts": lambda: (
        HistGradientBoostingRegressor(loss="poisson", max_iter=3, min_samples_leaf=3).fit(
            NUMBERS, np.abs(TARGET)
        ),
        NUMBERS,
    ),
    "AdaBoost": lambda: (AdaBoostClassifier(n_estimators=3).fit(WHOLE, CLASSES), WHOLE),
    "AdaBoost of two classes": lambda: (
        AdaBoostClassifier(n_estimators=3, algorithm="samme.r").fit(WHOLE, SIDES),
        WHOLE,
    ),
    "Algorithm 8.1": lambda: (AdaBoostClassifier(n_estimators=3, algorithm="m1").fit(WHOLE, SIDES), WHOLE),
    "categories": lambda: (DecisionTreeRegressor(max_depth=4).fit(MIXED, MIXED_TARGET), ASKED),
    "boosting of categories": lambda: (
        GradientBoostingRegressor(n_estimators=3).fit(MIXED, MIXED_TARGET),
        ASKED,
    ),
    "boosting of classes and categories": lambda: (
        GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(
            MIXED, np.where(MIXED[:, 2] == "p", "p", SIDES)
        ),
        ASKED,
    ),
    "histogram boosting of categories": lambda: (
        HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=3).fit(MIXED, MIXED_TARGET),
        ASKED,
    ),
}
