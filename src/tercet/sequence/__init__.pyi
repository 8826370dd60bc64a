from tercet.sequence.base import SequenceEstimator, Sequences
from tercet.sequence.crf.crf import CRF
from tercet.sequence.crf.forward_backward import (
    crf_backward,
    crf_forward,
    crf_log_likelihood,
    crf_marginals,
    crf_matrices,
    crf_viterbi,
)
from tercet.sequence.crf.iterative_scaling import crf_iis_update, crf_iterative_scaling
from tercet.sequence.crf.matrix_crf import MatrixCRF
from tercet.sequence.crf.memm import MEMM
from tercet.sequence.crf.parametric_crf import ParametricCRF, indicator_features
from tercet.sequence.crf.structured_perceptron import StructuredPerceptron
from tercet.sequence.hmm.baum_welch import backward, baum_welch_step, forward, posteriors, viterbi
from tercet.sequence.hmm.categorical_hmm import CategoricalHMM
from tercet.sequence.hmm.direct_enumeration import DirectEnumeration, hmm_q
from tercet.sequence.hmm.gaussian_hmm import GaussianHMM
from tercet.sequence.hmm.gmm_hmm import GMMHMM
from tercet.sequence.hmm.hmm_tagger import HMMTagger
from tercet.sequence.hmm.poisson_hmm import PoissonHMM
from tercet.sequence.hmm.topology import topology
from tercet.sequence.k_best import k_best
from tercet.sequence.text.conll import read_conll, write_conll
from tercet.sequence.text.crfsuite import read_crfsuite, write_crfsuite
from tercet.sequence.text.feature_templates import FeatureTemplates, apply_templates

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
    "SequenceEstimator",
    "Sequences",
    "StructuredPerceptron",
    "apply_templates",
    "backward",
    "baum_welch_step",
    "crf_backward",
    "crf_forward",
    "crf_iis_update",
    "crf_iterative_scaling",
    "crf_log_likelihood",
    "crf_marginals",
    "crf_matrices",
    "crf_viterbi",
    "forward",
    "hmm_q",
    "indicator_features",
    "k_best",
    "posteriors",
    "read_conll",
    "read_crfsuite",
    "topology",
    "viterbi",
    "write_conll",
    "write_crfsuite",
]
