from tercet.cluster.agglomerative_clustering import AgglomerativeClustering, agglomerate
from tercet.cluster.divisive_clustering import DivisiveClustering, split_cluster
from tercet.cluster.initial_centres import hierarchical_centers, kmeans_plusplus
from tercet.cluster.k_means import KMeans, k_means, lloyd_step
from tercet.cluster.lance_williams import lance_williams
from tercet.cluster.merge_trees import linkage_tree, ward_tree

__all__ = [
    "AgglomerativeClustering",
    "DivisiveClustering",
    "KMeans",
    "agglomerate",
    "hierarchical_centers",
    "k_means",
    "kmeans_plusplus",
    "lance_williams",
    "linkage_tree",
    "lloyd_step",
    "split_cluster",
    "ward_tree",
]
