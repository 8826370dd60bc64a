"""Pytest plugin: public names of scikit-learn that we have too become ours before its tests are imported.

Tests that use none of them are left out.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import warnings
from pathlib import Path

import pytest
import sklearn

from tercet.core.lazy import own_names
from tests.peers.private_names import add_private_names
from tests.peers.reach import Reach

# The test files of each module that we share. What tests classes that only scikit-learn has is left out.
FILES = {
    "linear_model": [
        f"linear_model/tests/test_{name}.py"
        for name in (
            "base",
            "common",
            "coordinate_descent",
            "sparse_coordinate_descent",
            "logistic",
            "omp",
            "perceptron",
            "ridge",
            "sag",
        )
    ]
    + ["linear_model/_glm/tests/test_glm.py"],
    "svm": [f"svm/tests/test_{name}.py" for name in ("bounds", "sparse", "svm")],
    "neighbors": [
        f"neighbors/tests/test_{name}.py"
        for name in (
            "ball_tree",
            "graph",
            "kd_tree",
            "nca",
            "neighbors",
            "neighbors_pipeline",
            "neighbors_tree",
        )
    ],
    "cluster": [
        f"cluster/tests/test_{name}.py"
        for name in ("bisect_k_means", "dbscan", "hdbscan", "hierarchical", "k_means", "optics")
    ],
    "decomposition": [
        f"decomposition/tests/test_{name}.py"
        for name in (
            "dict_learning",
            "incremental_pca",
            "kernel_pca",
            "nmf",
            "online_lda",
            "pca",
            "truncated_svd",
        )
    ],
    "manifold": [
        f"manifold/tests/test_{name}.py"
        for name in ("classical_mds", "isomap", "locally_linear", "mds", "spectral_embedding", "t_sne")
    ],
    "tree": [f"tree/tests/test_{name}.py" for name in ("export", "monotonic_tree", "tree")],
    "mixture": [
        f"mixture/tests/test_{name}.py" for name in ("bayesian_mixture", "gaussian_mixture", "mixture")
    ],
    "naive_bayes": ["tests/test_naive_bayes.py"],
    "discriminant_analysis": ["tests/test_discriminant_analysis.py"],
    "multiclass": ["tests/test_multiclass.py"],
    "neural_network": [
        f"neural_network/tests/test_{name}.py" for name in ("mlp", "rbm", "stochastic_optimizers")
    ],
    "semi_supervised": [
        f"semi_supervised/tests/test_{name}.py" for name in ("label_propagation", "self_training")
    ],
    "kernel_ridge": ["tests/test_kernel_ridge.py"],
    "metrics": ["metrics/tests/test_ranking.py"],
    "metrics.cluster": [f"metrics/cluster/tests/test_{name}.py" for name in ("supervised", "unsupervised")],
    "preprocessing": [
        f"preprocessing/tests/test_{name}.py" for name in ("discretization", "encoders", "target_encoder")
    ],
    "feature_extraction": ["feature_extraction/tests/test_feature_hasher.py"],
    "feature_extraction.text": ["feature_extraction/tests/test_text.py"],
    "ensemble": [
        f"ensemble/tests/test_{name}.py"
        for name in (
            "bagging",
            "common",
            "forest",
            "gradient_boosting",
            "iforest",
            "stacking",
            "voting",
            "weight_boosting",
        )
    ]
    + [
        f"ensemble/_hist_gradient_boosting/tests/test_{name}.py"
        for name in ("gradient_boosting", "monotonic_constraints", "warm_start")
    ],
}
HOME = {"metrics.cluster": "metrics"}  # where ours are, if not in the module of the same name
EXPECTED = Path(__file__).parent / "expected"
SWAPPED: list[str] = []  # what is ours while the tests run
# At the end of a reason: the test draws numbers without a seed, or the CPU's order of additions decides.
OPEN = ("may pass by chance", "rounding decides")


def swap() -> list[str]:
    """Put our classes and functions in the place of scikit-learn's; returns their names."""
    for module in pkgutil.iter_modules(sklearn.__path__):  # what it imports for itself stays its own
        if not module.name.startswith(("_", "conftest", "experimental")):
            importlib.import_module(f"sklearn.{module.name}")
    swapped = []
    for family in FILES:
        theirs, ours = (
            importlib.import_module(f"sklearn.{family}"),
            importlib.import_module(f"tercet.{HOME.get(family, family)}"),
        )
        for name in own_names(ours.__name__):
            if hasattr(theirs, name):
                setattr(theirs, name, getattr(ours, name))
                swapped.append(f"{family}.{name}")
    add_private_names()
    return swapped


def expected() -> dict[str, str]:
    """Reasons of the expected failures, by test: `test_svm.py::test_name[case]`, without the case where all fail.

    Files of histogram gradient boosting, whose names occur twice, have the prefix `hist/`.
    """
    reasons = {}
    for file in sorted(EXPECTED.glob("*.json")):
        for reason, tests in json.loads(file.read_text(encoding="utf-8")).items():
            reasons.update(dict.fromkeys(tests, reason))
    return reasons


def can_run(item: pytest.Item) -> bool:
    """False for a case of an array library that scikit-learn would skip without this setting."""
    case = getattr(item, "callspec", None)
    namespace = case.params.get("array_namespace") if case else None
    return namespace in (None, "numpy") or bool(os.environ.get("SCIPY_ARRAY_API"))


def pytest_configure(config: pytest.Config) -> None:
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    SWAPPED.extend(swap())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reasons, reach = expected(), Reach(name.rpartition(".")[2] for name in SWAPPED)
    kept, outside = [], []
    for item in items:
        name = item.nodeid.rpartition("/")[2]
        if "_hist_gradient_boosting/" in item.nodeid:
            name = f"hist/{name}"
        reason = reasons.get(name) or reasons.get(name.partition("[")[0])
        worthwhile = reason is not None or (reach.of_test(item) and can_run(item))
        (kept if worthwhile else outside).append(item)
        if reason is not None:  # one that passes is an error: the lists are no wider than need be
            item.add_marker(pytest.mark.xfail(reason=reason, strict=not reason.endswith(OPEN)))
    config.hook.pytest_deselected(items=outside)
    items[:] = kept


def pytest_collection_finish() -> None:
    """As in our own tests: garbage is not looked for among thousands of tests and all libraries."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
