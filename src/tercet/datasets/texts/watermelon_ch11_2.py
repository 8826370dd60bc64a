"""Watermelon notes, chapter 11, sections 11.1 to 11.5: semi-supervised learning (半监督学习)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

NAN = float("nan")
# (0, 1) = 1, (1, 2) = 2, (2, 3) = 1, (3, 4) = 1, (1, 3) = 0.5
GRAPH = [[0, 1, 0, 0, 0], [1, 0, 2, 0.5, 0], [0, 2, 0, 1, 0], [0, 0.5, 1, 0, 1], [0, 0, 0, 1, 0]]
TSVM_ROWS = [
    [-0.4, -0.9], [-1.1, 0.4], [2.7, 0.0], [2.3, 0.1],
    [0.4, 1.5], [-0.1, 2.0], [-0.4, 1.9], [-0.4, 1.9], [1.7, -2.1], [0.8, -1.8], [1.5, -1.5], [-1.0, -1.7],
]  # fmt: skip
MADE = "made for the text's formulas, which it gives no numbers for"


def gaussian_mixture(xl: list[float], yl: list[int], xu: list[float], means: list[float]) -> dict[str, Any]:
    import warnings

    from tercet.semi_supervised import SemiSupervisedGaussianMixture

    X, y = [[x] for x in xl + xu], yl + [-1] * len(xu)
    start: dict[str, Any] = {
        "weights_init": [0.5, 0.5],
        "means_init": [[m] for m in means],
        "covariances_init": [[[1.0]], [[1.0]]],
        "reg_covar": 0.0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = SemiSupervisedGaussianMixture(max_iter=1, **start).fit(X, y)
    model = SemiSupervisedGaussianMixture(max_iter=500, tol=1e-13, **start).fit(X, y)
    return {
        "LL at the start": model.lower_bounds_[0] * len(X),
        "means after a step": one.means_.ravel(),
        "variances after a step": one.covariances_.ravel(),
        "weights after a step": one.weights_,
        "LL after a step": model.lower_bounds_[1] * len(X),
        "means": model.means_.ravel(),
        "variances": model.covariances_.ravel(),
        "LL": model.lower_bound_ * len(X),
        "labels": model.transduction_,
    }


def harmonic(W: Any, f: list[float]) -> dict[str, Any]:
    import numpy as np

    from tercet.semi_supervised import LabelPropagation, graph_energy, harmonic_function

    found = harmonic_function(W, f)
    y = np.where(np.isnan(f), -1, np.where(np.asarray(f) > 0, 1, 0))
    model = LabelPropagation("precomputed", algorithm="closed-form").fit(W, y)
    return {
        "f": found,
        "energy": graph_energy(W, found),
        "P(+) by passes": 2 * model.label_distributions_[:, 1] - 1,
    }


def chain(x: list[float], sigma: float, f: list[float]) -> dict[str, Any]:
    from tercet.semi_supervised import affinity_matrix, harmonic_function

    return {"f": harmonic_function(affinity_matrix([[value] for value in x], sigma), f)}


def spreading(W: Any, Y: Any, alpha: float) -> dict[str, Any]:
    from tercet.semi_supervised import LabelSpreading, spreading_limit, spreading_step

    model = LabelSpreading("precomputed", alpha=alpha, tol=1e-12, max_iter=1000).fit(W, [0, -1, -1, -1, 1])
    return {
        "F": spreading_limit(W, Y, alpha),
        "F(1), row 1": spreading_step(W, Y, Y, alpha)[1],
        "labels": model.transduction_,
    }


def tsvm(X: Any, y: list[int], C: float, C_start: float) -> dict[str, Any]:
    import numpy as np

    from tercet.semi_supervised import TransductiveSVC
    from tercet.svm import SVC

    known = [k for k, label in enumerate(y) if label >= 0]
    first = SVC(kernel="linear", C=C).fit(np.asarray(X)[known], np.asarray(y)[known])
    model = TransductiveSVC(kernel="linear", C=C, C_start=C_start, switching="single").fit(X, y)
    rest = len(known)
    return {
        "SVM_l: w": first.coef_[0],
        "SVM_l: b": first.intercept_[0],
        "labels by SVM_l": first.predict(np.asarray(X)[rest:]),
        "pairs switched": model.n_switches_[0],
        "objective before and after": model.history_["objective"][:2],
        "labels": model.transduction_[rest:],
        "objective": model.objective_[0],
        "w": model.coef_[0],
        "b": model.intercept_[0],
    }


def missed_optimum(x: list[float], y: list[int], C: float) -> dict[str, Any]:
    from tercet.semi_supervised import TransductiveSVC

    X = [[value] for value in x]
    local = TransductiveSVC(kernel="linear", C=C).fit(X, y)
    best = TransductiveSVC(kernel="linear", C=C, algorithm="exhaustive").fit(X, y)
    return {
        "TSVM: labels": local.transduction_[2:],
        "TSVM: objective": local.objective_[0],
        "S3VM: labels": best.transduction_[2:],
        "S3VM: objective": best.objective_[0],
        "S3VM: w, b": [best.coef_[0, 0], best.intercept_[0]],
    }


EXAMPLES = [
    Example(
        place="watermelon notes eq. 11.4-11.6",
        title="Gaussian mixture of three labelled and five unlabelled numbers",
        zh="由三个有标记数与五个未标记数学习的高斯混合模型",
        given={
            "xl": [0.0, 1.0, 5.0],
            "yl": [0, 0, 1],
            "xu": [0.5, 2.0, 4.5, 6.0, 5.5],
            "means": [0.5, 5.0],
        },
        call=gaussian_mixture,
        expected={
            "LL at the start": -14.9876152,
            "means after a step": [0.86597426, 5.22335903],
            "variances after a step": [0.54203474, 0.39608246],
            "weights after a step": [0.49590733, 0.50409267],
            "LL after a step": -13.4195197,
            "means": [0.87501016, 5.25000196],
            "variances": [0.54691047, 0.31249979],
            "LL": -13.3633026,
            "labels": [0, 0, 1, 0, 0, 1, 1, 1],
        },
        rtol=1e-8,
        atol=5e-8,
        note=MADE,
    ),
    Example(
        place="watermelon notes eq. 11.8-11.12",
        title="harmonic function on a graph of five nodes",
        zh="五个结点的图上的调和函数",
        given={"W": GRAPH, "f": [1, NAN, NAN, NAN, -1]},
        call=harmonic,
        expected={
            "f": [1.0, 0.3, 0.1, -0.3, -1.0],
            "energy": 1.4,
            "P(+) by passes": [1.0, 0.3, 0.1, -0.3, -1.0],
        },
        note=f"{MADE}; in eq. 11.9 the second block matrix must be W",
    ),
    Example(
        place="watermelon notes eq. 11.7, 11.10",
        title="harmonic function on a chain of five points",
        zh="五个点的链上的调和函数",
        given={"x": [0.0, 1.0, 2.0, 3.0, 4.0], "sigma": 1.0, "f": [1, NAN, NAN, NAN, -1]},
        call=chain,
        expected={"f": [1.0, 0.39831775, 0.0, -0.39831775, -1.0]},
        atol=1e-8,
        note=MADE,
    ),
    Example(
        place="watermelon notes Fig 13.5",
        title="label spreading on the graph of five nodes",
        zh="五个结点的图上的标记传播",
        given={"W": GRAPH, "Y": [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1]], "alpha": 0.5},
        call=spreading,
        expected={
            "F": [
                [0.5440677966, 0.0084745763],
                [0.1648865967, 0.0317089609],
                [0.0557779074, 0.0440351900],
                [0.0267989632, 0.1875927426],
                [0.0084745763, 0.5593220339],
            ],
            "F(1), row 1": [0.2672612419, 0.0],
            "labels": [0, 0, 0, 1, 1],
        },
        note=f"{MADE}; eq. 11.15 minimises eq. 11.16 if its last sum runs over all rows",
    ),
    Example(
        place="watermelon notes Fig 13.4",
        title="TSVM of four labelled and eight unlabelled points: one pair of labels is switched",
        zh="四个有标记与八个未标记样本的TSVM：交换一对标记",
        given={"X": TSVM_ROWS, "y": [0, 0, 1, 1] + [-1] * 8, "C": 1.0, "C_start": 0.1},
        call=tsvm,
        expected={
            "SVM_l: w": [0.6513872, 0.2412545],
            "SVM_l: b": -0.5223160,
            "labels by SVM_l": [1, 0, 0, 0, 1, 0, 1, 0],
            "pairs switched": 1,
            "objective before and after": [0.6299040, 0.4875591],
            "labels": [0, 0, 0, 0, 1, 1, 1, 0],
            "objective": 0.8888889,
            "w": [1.0666667, -0.8],
            "b": -1.2933333,
        },
        rtol=1e-6,
        atol=1e-7,
        note=MADE,
    ),
    Example(
        place="watermelon notes sec. 11.3",
        title="a pair switch keeps the number of positive labels: the optimum of all labels is missed",
        zh="成对交换不改变正例数：错过穷举所得的最优标记",
        given={"x": [0.0, 10.0, 1.0, 2.0, 6.0, 9.0, 4.0], "y": [0, 1, -1, -1, -1, -1, -1], "C": 10.0},
        call=missed_optimum,
        expected={
            "TSVM: labels": [0, 0, 1, 1, 0],
            "TSVM: objective": 0.5,
            "S3VM: labels": [0, 0, 0, 1, 0],
            "S3VM: objective": 0.2222222222,
            "S3VM: w, b": [0.6666666667, -5.0],
        },
        rtol=1e-6,
        note=MADE,
    ),
]
