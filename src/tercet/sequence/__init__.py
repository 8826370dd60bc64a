"""Sequences: hidden Markov models, random fields, taggers."""

from tercet.sequence.categorical_hmm import CategoricalHMM
from tercet.sequence.conll import read_conll, write_conll
from tercet.sequence.crf import CRF
from tercet.sequence.crf_forms import ParametricCRF, indicator_features
from tercet.sequence.crf_matrix import MatrixCRF
from tercet.sequence.crf_scaling import chain_scaling
from tercet.sequence.crfsuite import read_crfsuite, write_crfsuite
from tercet.sequence.enumeration import DirectEnumeration, hmm_q
from tercet.sequence.gaussian_hmm import GaussianHMM
from tercet.sequence.gmm_hmm import GMMHMM
from tercet.sequence.hmm_tables import backward, forward, posteriors, viterbi
from tercet.sequence.kbest import k_best
from tercet.sequence.markov import (
    absorbing_states,
    absorption_probabilities,
    after_steps,
    closed_classes,
    communicating_classes,
    entropy_rate,
    expected_stay,
    hitting_times,
    is_irreducible,
    periods,
    stationary_distribution,
    stationary_distributions,
    topology,
)
from tercet.sequence.memm import MEMM
from tercet.sequence.poisson_hmm import PoissonHMM
from tercet.sequence.structured_perceptron import StructuredPerceptron
from tercet.sequence.tagger import HMMTagger
from tercet.sequence.templates import FeatureTemplates, apply_templates

__all__ = [
    "CRF",
    "GMMHMM",
    "MEMM",
    "CategoricalHMM",
    "DirectEnumeration",
    "FeatureTemplates",
    "GaussianHMM",
    "HMMTagger",
    "MatrixCRF",
    "ParametricCRF",
    "PoissonHMM",
    "StructuredPerceptron",
    "absorbing_states",
    "absorption_probabilities",
    "after_steps",
    "apply_templates",
    "backward",
    "chain_scaling",
    "closed_classes",
    "communicating_classes",
    "entropy_rate",
    "expected_stay",
    "forward",
    "hitting_times",
    "hmm_q",
    "indicator_features",
    "is_irreducible",
    "k_best",
    "periods",
    "posteriors",
    "read_conll",
    "read_crfsuite",
    "stationary_distribution",
    "stationary_distributions",
    "topology",
    "viterbi",
    "write_conll",
    "write_crfsuite",
]
