"""Rows of the mixtures: Gaussian components by EM."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Data, Result, Row


def make_clouds(rng: np.random.Generator, n: int, d: int, k: int, passes: int) -> Data:
    """Overlapping clouds of different forms; the start is k of the rows, with unit covariances. From there the
    passes are exact: who takes the same has the same likelihood."""
    centres = 1.5 * rng.standard_normal((k, d))
    forms = np.eye(d) + 0.3 * rng.standard_normal((k, d, d))
    cloud = rng.integers(k, size=n)
    X = centres[cloud] + np.einsum("nij,nj->ni", forms[cloud], rng.standard_normal((n, d)))
    data = {"X": X, "start": X[rng.choice(n, k, replace=False)], "passes": np.array(passes)}
    return {**data, "likelihood": np.array(log_likelihood(data, gmm_sklearn(data)))}


def log_likelihood(data: Data, result: Result) -> float:
    """The mean log-likelihood of the rows, from the learned parameters alone."""
    joint = []
    for weight, mean, covariance in zip(result["weights"], result["means"], result["covariances"]):
        white = np.linalg.solve(np.linalg.cholesky(covariance), (data["X"] - mean).T)
        _, volume = np.linalg.slogdet(2 * np.pi * covariance)
        joint.append(np.log(weight) - 0.5 * volume - 0.5 * (white**2).sum(axis=0))
    return float(np.logaddexp.reduce(joint, axis=0).mean())


def astray(data: Data, result: Result) -> float:
    """Relative difference of the log-likelihood to that of scikit-learn's passes."""
    return abs(log_likelihood(data, result) / float(data["likelihood"]) - 1.0)


def one_fit(kind: Any, data: Data, **more: Any) -> Result:
    k, d = data["start"].shape
    model = kind(
        k,
        weights_init=np.full(k, 1 / k),
        means_init=data["start"],
        precisions_init=np.stack([np.eye(d)] * k),
        max_iter=int(data["passes"]),
        tol=0.0,
        reg_covar=0.0,  # pomegranate adds nothing to the variances
        **more,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data["X"])
    return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_}


def gmm_ours(data: Data) -> Result:
    from tercet.mixture import GaussianMixture

    return one_fit(GaussianMixture, data, n_jobs=2)


def gmm_sklearn(data: Data) -> Result:
    from sklearn.mixture import GaussianMixture

    return one_fit(GaussianMixture, data)


def gmm_pomegranate(data: Data) -> Result:
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.gmm import GeneralMixtureModel

    torch.set_default_dtype(torch.float64)
    k, d = data["start"].shape
    parts = [Normal(torch.tensor(mean), torch.eye(d), covariance_type="full") for mean in data["start"]]
    model = GeneralMixtureModel(
        parts, priors=torch.full((k,), 1 / k), max_iter=int(data["passes"]), tol=-np.inf, check_data=False
    )
    model.fit(torch.tensor(data["X"]))
    return {
        "weights": model.priors.numpy(),
        "means": np.stack([part.means.numpy() for part in parts]),
        "covariances": np.stack([part.covs.numpy() for part in parts]),
    }


ROWS = [
    Row(
        name="gmm",
        work="Gaussian mixture, full covariances, {k} components, {passes} passes from the same start; {n} x {d}",
        sizes={
            "full": {"n": 100_000, "d": 16, "k": 16, "passes": 20},
            "smoke": {"n": 2_000, "d": 4, "k": 3, "passes": 10},
        },
        data=make_clouds,
        ours=Contender(gmm_ours, ("tercet.mixture",), "tercet"),
        peers={
            "scikit-learn": Contender(gmm_sklearn, ("sklearn.mixture",), "scikit-learn"),
            "pomegranate": Contender(gmm_pomegranate, ("pomegranate.gmm",), "pomegranate"),
        },
        quality=astray,
        tolerance=1e-8,
        figure="relative difference of the log-likelihood to scikit-learn's",
        relative=False,
    ),
]
