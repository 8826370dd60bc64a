"""Machine Learning in Depth, chapter 6: from maximum entropy to several classes (最大熵理论和多分类器)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def reference_class(theta: Any, x: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.linear_model import LogisticRegression

    model = LogisticRegression(reference="last")
    model.classes_, model.n_features_in_ = np.arange(3), 2
    model.coef_, model.intercept_ = np.vstack([theta, np.zeros(2)]), np.zeros(3)
    shifted = LogisticRegression()
    shifted.classes_, shifted.n_features_in_ = model.classes_, 2
    shifted.coef_, shifted.intercept_ = model.coef_ + np.array([0.3, -0.7]), model.intercept_ + 0.1
    return {"P": model.predict_proba([x])[0], "P with K vectors": shifted.predict_proba([x])[0]}


def exponential_form(phi: float, mu: float, p: Any) -> dict[str, Any]:
    from tercet.distributions import Bernoulli, Categorical, GaussianKnownVariance

    members = {
        "Bernoulli": Bernoulli(phi),
        "Gaussian": GaussianKnownVariance(mu),
        "multinomial": Categorical(p),
    }
    return {name: [*member.natural, member.log_partition] for name, member in members.items()}


def maximum_entropy(data: Any) -> dict[str, Any]:
    from tercet.linear_model import MaxEnt

    x, y = zip(*data)
    features = [lambda x, y: x == 0 and y == 0, lambda x, y: y == 1]
    model = MaxEnt("newton", C=float("inf"), feature_functions=features, tol=1e-10).fit(x, y)
    return {
        "E in the data": model.empirical_,
        "E of the model": model.expected_,
        "w": model.weights_,
        "P(y|0)": model.predict_proba([0])[0],
        "P(y|1)": model.predict_proba([1])[0],
        "H": model.entropy_,
        "dual function": model.dual_function(x, y),
        "mean log-likelihood": model.log_likelihood(x, y),
    }


EXAMPLES = [
    Example(
        place="Machine Learning in Depth ch. 6, sec. 6.1.2",
        title="a maximum entropy model with two features",
        zh="最大熵模型",
        given={"data": [(0, 0)] * 3 + [(0, 1)] + [(1, 1)] * 2 + [(1, 2)] * 2 + [(1, 0)] * 2},
        call=maximum_entropy,
        expected={
            "E in the data": [0.3, 0.3],
            "E of the model": [0.3, 0.3],
            "w": [1.95562306, 0.30461826],
            "P(y|0)": [0.75, 0.14389277, 0.10610723],
            "P(y|1)": [0.29796426, 0.40407148, 0.29796426],
            "H": 0.9457187002,
            "dual function": -0.9457187002,
            "mean log-likelihood": -0.9457187002,
        },
        atol=5e-9,
        note="derived; the text leaves the optimiser open",
    ),
    Example(
        place="Machine Learning in Depth ch. 6, sec. 6.1.3",
        title="three classes with two parameter vectors",
        zh="多分类器: K-1 个参数向量",
        given={"theta": [[1, -0.5], [0.2, 0.3]], "x": [1, 2]},
        call=reference_class,
        expected={
            "P": [0.23665609, 0.52668782, 0.23665609],
            "P with K vectors": [0.23665609, 0.52668782, 0.23665609],
        },
        atol=5e-9,
        note="made for the text's formula, in which the last class gets 1 / (1 + sum)",
    ),
    Example(
        place="Machine Learning in Depth Eq 6.3, 6.4, 6.6",
        title="three exponential families: η and a(η)",
        zh="伯努利分布、高斯分布和多项式分布的指数形式",
        given={"phi": 0.3, "mu": 1.7, "p": [0.2, 0.3, 0.5]},
        call=exponential_form,
        expected={
            "Bernoulli": [-0.8472978604, 0.3566749439],
            "Gaussian": [1.7, 1.445],
            "multinomial": [-0.9162907319, -0.5108256238, 0.6931471806],
        },
        note="made for the text's formulas; a(η) of the Bernoulli, printed 1 + e^(-η), is log(1 + e^η)",
    ),
]
