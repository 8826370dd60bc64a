"""Measures of clusters and partitions (Li ch. 14.1; watermelon notes ch. 7.2).

`contingency`, `agreement` and `mutual_information` compare two partitions of the same rows; `separation` judges one
by the distances of its rows; `clusters` says what a cluster is and how far two of them are apart.
"""

from __future__ import annotations

from tercet.metrics.clustering.agreement import (
    PairCounts,
    adjusted_rand_score,
    fowlkes_mallows_score,
    mirkin_distance,
    pair_confusion_matrix,
    pair_counts,
    pair_jaccard_score,
    purity_score,
    rand_score,
)
from tercet.metrics.clustering.clusters import (
    cluster_center,
    cluster_covariance,
    cluster_diameter,
    cluster_distance,
    cluster_members,
    cluster_scatter,
    hausdorff_distance,
    is_cluster,
)
from tercet.metrics.clustering.contingency import contingency_matrix
from tercet.metrics.clustering.mutual_information import (
    adjusted_mutual_info_score,
    completeness_score,
    homogeneity_completeness_v_measure,
    homogeneity_score,
    mutual_info_score,
    normalized_mutual_info_score,
    v_measure_score,
    variation_of_information,
)
from tercet.metrics.clustering.separation import (
    calinski_harabasz_score,
    davies_bouldin_score,
    dunn_index,
    mean_distances,
    silhouette_samples,
    silhouette_score,
)

__all__ = [
    "PairCounts",
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "calinski_harabasz_score",
    "cluster_center",
    "cluster_covariance",
    "cluster_diameter",
    "cluster_distance",
    "cluster_members",
    "cluster_scatter",
    "completeness_score",
    "contingency_matrix",
    "davies_bouldin_score",
    "dunn_index",
    "fowlkes_mallows_score",
    "hausdorff_distance",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "is_cluster",
    "mean_distances",
    "mirkin_distance",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "pair_confusion_matrix",
    "pair_counts",
    "pair_jaccard_score",
    "purity_score",
    "rand_score",
    "silhouette_samples",
    "silhouette_score",
    "v_measure_score",
    "variation_of_information",
]
