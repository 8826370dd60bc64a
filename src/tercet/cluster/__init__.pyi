from tercet.cluster.agglomerative_clustering import AgglomerativeClustering, agglomerate, lance_williams
from tercet.cluster.dbscan import DBSCAN, dbscan, grow_clusters
from tercet.cluster.hdbscan import HDBSCAN
from tercet.cluster.initial_centres import hierarchical_centers, kmeans_plusplus
from tercet.cluster.k_means import KMeans, k_means, lloyd_step
from tercet.cluster.merge_trees import linkage_tree, ward_tree
from tercet.cluster.optics import OPTICS, cluster_optics_dbscan, cluster_optics_xi, compute_optics_graph

__all__ = [
    "DBSCAN",
    "HDBSCAN",
    "OPTICS",
    "AgglomerativeClustering",
    "KMeans",
    "agglomerate",
    "cluster_optics_dbscan",
    "cluster_optics_xi",
    "compute_optics_graph",
    "dbscan",
    "grow_clusters",
    "hierarchical_centers",
    "k_means",
    "kmeans_plusplus",
    "lance_williams",
    "linkage_tree",
    "lloyd_step",
    "ward_tree",
]
