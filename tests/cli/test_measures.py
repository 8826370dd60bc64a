"""The measures that `tercet compare` and `evaluate` rank by."""

import numpy as np
import pytest
import sklearn.metrics

from tercet import metrics
from tercet.cli.measures import MEASURES, suitable

NAMES = {
    "silhouette": "silhouette_score",
    "calinski_harabasz": "calinski_harabasz_score",
    "davies_bouldin": "davies_bouldin_score",
    "adjusted_rand": "adjusted_rand_score",
    "mutual_information": "normalized_mutual_info_score",
    "fowlkes_mallows": "fowlkes_mallows_score",
}


@pytest.mark.parametrize("name", NAMES)
def test_measures_of_clusters_are_ours(name, monkeypatch):
    rng = np.random.default_rng(0)
    X, labels, classes = rng.normal(size=(40, 2)), np.arange(40) % 3, np.arange(40) // 10
    measure = MEASURES[name]
    given = (X, labels) if measure.needs == "inside" else (classes, labels)
    peer = getattr(sklearn.metrics, NAMES[name])(*given)
    monkeypatch.setattr(sklearn.metrics, NAMES[name], None)
    assert measure.of(*given) == getattr(metrics, NAMES[name])(*given) == pytest.approx(peer, rel=1e-12)


def test_every_measure_of_clusters_is_looked_at():
    assert {measure.name for measure in suitable("clustering")} == set(NAMES)
