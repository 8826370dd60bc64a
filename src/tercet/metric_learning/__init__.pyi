from tercet.metric_learning.itml import ITML
from tercet.metric_learning.lmnn import LMNN
from tercet.metric_learning.mahalanobis_metric import MahalanobisMetric
from tercet.metric_learning.mmc import MMC
from tercet.metric_learning.neighborhood_components_analysis import (
    NeighborhoodComponentsAnalysis,
    leave_one_out_probabilities,
)

__all__ = [
    "ITML",
    "LMNN",
    "MMC",
    "MahalanobisMetric",
    "NeighborhoodComponentsAnalysis",
    "leave_one_out_probabilities",
]
