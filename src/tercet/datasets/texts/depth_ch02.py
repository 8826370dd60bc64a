"""Machine Learning in Depth, chapter 2: linear and logistic regression (线性回归, 逻辑回归)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

X = [[1], [2], [3], [4]]
Y = [2, 3, 5, 4]


def least_squares(X: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.linear_model import LinearRegression

    model = LinearRegression().fit(X, y)
    return {
        "theta": [model.intercept_, *model.coef_],
        "mean squared error": np.mean((y - model.predict(X)) ** 2),
        "sigma2": model.sigma2_,
        "log-likelihood": model.log_likelihood(X, y),
    }


def batch_descent(X: Any, y: Any, eta: float) -> dict[str, Any]:
    import warnings

    from tercet.core.callbacks import Recorder
    from tercet.core.steps import ConvergenceWarning
    from tercet.linear_model import LinearRegression

    recorder = Recorder()
    model = LinearRegression(solver="gd", eta=eta, max_iter=3).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    frames = [frame.attributes for frame in recorder.frames]
    return {
        "theta": [[frame["intercept_"], *frame["coef_"]] for frame in frames],
        "J": model.history_["loss"],
    }


def one_pass(X: Any, y: Any, eta: float) -> dict[str, Any]:
    import warnings

    from tercet.core.steps import ConvergenceWarning
    from tercet.linear_model import LinearRegression

    results = {}
    for solver in ("sgd", "minibatch"):
        model = LinearRegression(solver=solver, eta=eta, batch_size=2, shuffle=False, max_iter=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        results[solver] = [model.intercept_, *model.coef_]
    return results


def posterior(X: Any, y: Any, lam: float) -> dict[str, Any]:
    from tercet.linear_model import PenalizedRegressor, Ridge

    # noise of variance 1: -log posterior is 1/2 |y - Xw|^2 + lam |w|^2, or + lam sum |w|
    gaussian = Ridge(alpha=2 * lam, fit_intercept=False).fit(X, y)
    laplace = PenalizedRegressor("l1", alpha=2 * lam / len(y), fit_intercept=False).fit(X, y)
    return {"Gaussian prior": gaussian.coef_, "Laplace prior": laplace.coef_}


def curvatures(x: float, y: int, theta: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.linear_model import LogisticObjective

    def second(loss: str) -> list[float]:
        f = LogisticObjective(np.array([[x]]), np.array([y]), None, 2, intercept=False, loss=loss)
        return [float(f.hessian(np.array([t]))[0, 0]) for t in theta]

    return {"squared": second("squared"), "convex": min(second("log")) > 0}


EXAMPLES = [
    Example(
        place="Machine Learning in Depth Eq 2.2-2.3",
        title="least squares and the likelihood of Gaussian noise",
        zh="最小二乘与高斯噪声的似然",
        given={"X": X, "y": Y},
        call=least_squares,
        expected={
            "theta": [1.5, 0.8],
            "mean squared error": 0.45,
            "sigma2": 0.45,
            "log-likelihood": -4.078738740,
        },
        note="made for the text's formulas",
    ),
    Example(
        place="Machine Learning in Depth Eq 2.9",
        title="batch gradient descent",
        zh="批梯度下降",
        given={"X": X, "y": Y, "eta": 0.01},
        call=batch_descent,
        expected={
            "theta": [[0.14, 0.39], [0.2354, 0.649], [0.301084, 0.82076]],
            "J": [12.6967, 6.34998732, 3.532368852512],
        },
        note="made for the text's formulas; in print x stands outside of the sum",
    ),
    Example(
        place="Machine Learning in Depth ch. 2, sec. 2.1",
        title="one pass of stochastic and of mini-batch descent",
        zh="随机梯度下降, 小批量梯度下降",
        given={"X": X, "y": Y, "eta": 0.01},
        call=one_pass,
        expected={"sgd": [0.12676754, 0.34112816], "minibatch": [0.1334, 0.3665]},
        note="made for the text's formulas",
    ),
    Example(
        place="Machine Learning in Depth ch. 2, sec. 2.2",
        title="penalties as priors",
        zh="正则化的贝叶斯解释",
        given={"X": [[1, 0], [1, 1], [1, 2]], "y": [1, 2, 4], "lam": 0.5},
        call=posterior,
        expected={"Gaussian prior": [0.8, 1.2666666667], "Laplace prior": [0.6666666667, 1.5]},
        note="made for the text's formulas; in print the Gaussian prior has 1/sigma^2 for 1/(2 sigma^2)",
    ),
    Example(
        place="Machine Learning in Depth ch. 2, sec. 2.2.4",
        title="second derivative of the logistic model's squared loss",
        zh="逻辑回归的均方差损失非凸",
        given={"x": 1.0, "y": 1, "theta": [-2.0, 0.0, 2.0]},
        call=curvatures,
        expected={"squared": [-0.118814169, 0.125, 0.041110834], "convex": True},
        atol=1e-9,
        note="made for the text's formula; negative where the probability is below 1/3",
    ),
]
