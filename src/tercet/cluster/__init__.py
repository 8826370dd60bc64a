"""Clustering."""

from tercet.cluster.agglomerative_clustering import AgglomerativeClustering
from tercet.cluster.initial_centres import hierarchical_centers, kmeans_plusplus
from tercet.cluster.k_means import KMeans

__all__ = ["AgglomerativeClustering", "KMeans", "hierarchical_centers", "kmeans_plusplus"]
