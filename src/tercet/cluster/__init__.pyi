from sklearn.cluster import (
    AffinityPropagation,
    Birch,
    FeatureAgglomeration,
    MeanShift,
    SpectralBiclustering,
    SpectralClustering,
    SpectralCoclustering,
    affinity_propagation,
    estimate_bandwidth,
    get_bin_seeds,
    mean_shift,
    spectral_clustering,
)

from tercet.cluster.agglomerative_clustering import AgglomerativeClustering, agglomerate
from tercet.cluster.bisecting_k_means import BisectingKMeans
from tercet.cluster.cop_k_means import COPKMeans
from tercet.cluster.dbscan import DBSCAN, dbscan, grow_clusters
from tercet.cluster.divisive_clustering import DivisiveClustering, split_cluster
from tercet.cluster.hdbscan import HDBSCAN
from tercet.cluster.initial_centres import hierarchical_centers, kmeans_plusplus
from tercet.cluster.k_means import KMeans, k_means, lloyd_step
from tercet.cluster.k_medoids import KMedoids
from tercet.cluster.k_modes import KModes
from tercet.cluster.lance_williams import lance_williams
from tercet.cluster.merge_trees import linkage_tree, ward_tree
from tercet.cluster.mini_batch_k_means import MiniBatchKMeans
from tercet.cluster.n_clusters_choice import NClustersChoice, choose_n_clusters
from tercet.cluster.optics import OPTICS, cluster_optics_dbscan, cluster_optics_xi, compute_optics_graph
from tercet.cluster.partitions import (
    optimal_k_means,
    stirling_second,
    within_cluster_scatter,
)
from tercet.cluster.seeded_k_means import SeededKMeans
from tercet.cluster.spherical_k_means import SphericalKMeans

__all__ = [
    "DBSCAN",
    "HDBSCAN",
    "OPTICS",
    "AffinityPropagation",
    "AgglomerativeClustering",
    "Birch",
    "BisectingKMeans",
    "COPKMeans",
    "DivisiveClustering",
    "FeatureAgglomeration",
    "KMeans",
    "KMedoids",
    "KModes",
    "MeanShift",
    "MiniBatchKMeans",
    "NClustersChoice",
    "SeededKMeans",
    "SpectralBiclustering",
    "SpectralClustering",
    "SpectralCoclustering",
    "SphericalKMeans",
    "affinity_propagation",
    "agglomerate",
    "choose_n_clusters",
    "cluster_optics_dbscan",
    "cluster_optics_xi",
    "compute_optics_graph",
    "dbscan",
    "estimate_bandwidth",
    "get_bin_seeds",
    "grow_clusters",
    "hierarchical_centers",
    "k_means",
    "kmeans_plusplus",
    "lance_williams",
    "linkage_tree",
    "lloyd_step",
    "mean_shift",
    "optimal_k_means",
    "spectral_clustering",
    "split_cluster",
    "stirling_second",
    "ward_tree",
    "within_cluster_scatter",
]
