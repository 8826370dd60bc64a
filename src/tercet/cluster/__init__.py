"""Clustering."""

from tercet.cluster.agglomerative_clustering import AgglomerativeClustering, agglomerate, lance_williams
from tercet.cluster.initial_centres import hierarchical_centers, kmeans_plusplus
from tercet.cluster.k_means import KMeans, lloyd_step

__all__ = [
    "AgglomerativeClustering",
    "KMeans",
    "agglomerate",
    "hierarchical_centers",
    "kmeans_plusplus",
    "lance_williams",
    "lloyd_step",
]
