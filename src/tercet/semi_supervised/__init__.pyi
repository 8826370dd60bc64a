from tercet.semi_supervised.active_learner import ActiveLearner
from tercet.semi_supervised.affinity import (
    affinity_matrix,
    graph_energy,
    harmonic_function,
    spreading_limit,
    spreading_matrix,
    spreading_step,
)
from tercet.semi_supervised.co_training_classifier import CoTrainingClassifier
from tercet.semi_supervised.label_propagation import LabelPropagation
from tercet.semi_supervised.label_spreading import LabelSpreading
from tercet.semi_supervised.partial_labels import is_unlabeled
from tercet.semi_supervised.self_training_classifier import SelfTrainingClassifier
from tercet.semi_supervised.semi_supervised_gaussian_mixture import SemiSupervisedGaussianMixture
from tercet.semi_supervised.semi_supervised_nb import SemiSupervisedNB
from tercet.semi_supervised.transductive_svc import TransductiveSVC
from tercet.semi_supervised.tri_training_classifier import TriTrainingClassifier
from tercet.semi_supervised.uncertainty import (
    entropy_uncertainty,
    least_confident,
    margin_uncertainty,
    vote_entropy,
)

__all__ = [
    "ActiveLearner",
    "CoTrainingClassifier",
    "LabelPropagation",
    "LabelSpreading",
    "SelfTrainingClassifier",
    "SemiSupervisedGaussianMixture",
    "SemiSupervisedNB",
    "TransductiveSVC",
    "TriTrainingClassifier",
    "affinity_matrix",
    "entropy_uncertainty",
    "graph_energy",
    "harmonic_function",
    "is_unlabeled",
    "least_confident",
    "margin_uncertainty",
    "spreading_limit",
    "spreading_matrix",
    "spreading_step",
    "vote_entropy",
]
