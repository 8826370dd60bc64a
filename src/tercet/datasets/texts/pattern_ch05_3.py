"""Pattern Recognition, 5.3 and 5.6: quadratic discriminants (二次判别函数) and Fisher's (Fisher 线性判别)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

X1 = [[0, 0], [2, 0], [0, 2], [2, 2], [1, 1]]
X2 = [[5, 5], [7, 5], [5, 9], [7, 9], [6, 7]]
FISHER1 = [[0, 0], [1, 0], [0, 1]]
FISHER2 = [[3, 3], [4, 3], [3, 5]]


def distances(X1: Any, X2: Any, points: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis

    model = QuadraticDiscriminantAnalysis(ddof=1, thresholds=0, store_covariance=True)
    model.fit([*X1, *X2], [1] * len(X1) + [2] * len(X2))
    return {
        "covariances": model.covariance_,
        "distances": model.mahalanobis(points),
        "classes": model.predict(points),
    }


def boundary(X1: Any, X2: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis

    model = QuadraticDiscriminantAnalysis(ddof=1, thresholds=0)
    form = model.fit([*X1, *X2], [1] * len(X1) + [2] * len(X2)).boundary(1, 2)
    return {"W": form.W, "w": form.w, "w0": form.w0, "parameters": form.n_parameters}


def thresholds(X1: Any, X2: Any, K: Any, points: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import QuadraticDiscriminantAnalysis

    X, y = [*X1, *X2], [1] * len(X1) + [2] * len(X2)
    bayes = QuadraticDiscriminantAnalysis(ddof=1, priors=[0.5, 0.5]).fit(X, y)
    # Only the difference of two thresholds matters: ln P drops out when the priors are equal.
    return {"K": bayes.thresholds_ - bayes.thresholds_[0], "one class": K - bayes.mahalanobis(points)[:, 0]}


def one_class(X1: Any, K: Any, points: Any) -> dict[str, Any]:
    from tercet.discriminant_analysis import OneClassQuadraticDiscriminant

    model = OneClassQuadraticDiscriminant(threshold=K).fit(X1)
    form = model.boundary()
    return {
        "mean": model.location_,
        "covariance": model.covariance_,
        "g": model.decision_function(points),
        "sides": model.predict(points),
        "form": form(points),
    }


def fisher(X1: Any, X2: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.discriminant_analysis import LinearDiscriminantAnalysis, rayleigh_quotient

    model = LinearDiscriminantAnalysis("fisher").fit([*X1, *X2], [1] * len(X1) + [2] * len(X2))
    apart = model.means_[0] - model.means_[1]
    w = -model.coef_[0]  # the text's w points to the first class
    return {
        "S_W": model.within_scatter_,
        "w": w,
        "J": rayleigh_quotient(w, np.outer(apart, apart), model.within_scatter_),
    }


EXAMPLES = [
    Example(
        place="Pattern Recognition Eq 5-10",
        title="Mahalanobis distances to two classes, unbiased covariances",
        zh="二次判别函数: 到两类均值的马氏距离",
        given={"X1": X1, "X2": X2, "points": [[3, 3], [4, 4], [3.5, 3.2]]},
        call=distances,
        expected={
            "covariances": [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 4.0]]],
            "distances": [[8.0, 13.0], [18.0, 6.25], [11.09, 9.86]],
            "classes": [1, 2, 2],
        },
        note="The text has no numbers here; these were worked out from its formulas.",
    ),
    Example(
        place="Pattern Recognition Eq 5-11",
        title="the boundary between two classes as a quadratic form",
        zh="两类间的二次决策面",
        given={"X1": X1, "X2": X2},
        call=boundary,
        expected={"W": [[0.0, 0.0], [0.0, -0.75]], "w": [-10.0, -1.5], "w0": 46.25, "parameters": 6},
        note="The print has ≥ 0 beside a brace of two classes: > 0 is the first, < 0 the second.",
    ),
    Example(
        place="Pattern Recognition Eq 5-12",
        title="thresholds: Bayes' for two classes, and one for one class",
        zh="阈值项与单类二次判别函数",
        given={"X1": X1, "X2": X2, "K": 4, "points": [[3, 3], [2.5, 2.5]]},
        call=thresholds,
        expected={"K": [0.0, -1.3862943611198906], "one class": [-4.0, -0.5]},
        note="The text leaves K free; Bayes' rule makes it K² = 2 ln P - ln|Σ|.",
    ),
    Example(
        place="Pattern Recognition Eq 5-13",
        title="quadratic discriminant of one class",
        zh="单类二次判别函数的决策",
        given={"X1": X1, "K": 4, "points": [[3, 3], [2.5, 2.5], [1, 2]]},
        call=one_class,
        expected={
            "mean": [1.0, 1.0],
            "covariance": [[1.0, 0.0], [0.0, 1.0]],
            "g": [-4.0, -0.5, 3.0],
            "sides": [-1, -1, 1],
            "form": [-4.0, -0.5, 3.0],
        },
        atol=1e-12,
        note="The print has ≥ 0 beside a brace of two classes: > 0 is inside (the first class), < 0 outside.",
    ),
    Example(
        place="Pattern Recognition Eq 5-73",
        title="Fisher's linear discriminant",
        zh="Fisher 线性判别",
        given={"X1": FISHER1, "X2": FISHER2},
        call=fisher,
        expected={
            "S_W": [[1.3333333333, -1.0], [-1.0, 3.3333333333]],
            "w": [-3.8709677419, -2.1612903226],
            "J": 18.8172043011,
        },
        rtol=1e-9,
    ),
]
