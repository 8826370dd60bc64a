from sklearn.decomposition import (
    FactorAnalysis,
    FastICA,
    MiniBatchSparsePCA,
    SparsePCA,
    fastica,
)

from tercet.decomposition.completion.alternating_least_squares import AlternatingLeastSquares
from tercet.decomposition.completion.matrix_completion import MatrixCompletion
from tercet.decomposition.completion.nuclear_norm import nuclear_norm, singular_value_threshold
from tercet.decomposition.completion.ratings_matrix import Ratings, ratings_matrix
from tercet.decomposition.compressed_sensing.compressed_sensing import CompressedSensing
from tercet.decomposition.compressed_sensing.measurement_matrix import measurement_matrix
from tercet.decomposition.compressed_sensing.restricted_isometry import (
    estimate_restricted_isometry,
    mutual_coherence,
    restricted_isometry_constant,
)
from tercet.decomposition.compressed_sensing.sparse_recovery import (
    basis_pursuit,
    basis_pursuit_denoising,
    iterative_hard_thresholding,
    l0_minimization,
)
from tercet.decomposition.dictionary.dict_learning import dict_learning, dict_learning_online
from tercet.decomposition.dictionary.dictionary_learning import DictionaryLearning
from tercet.decomposition.dictionary.ksvd import ksvd_atom_update
from tercet.decomposition.dictionary.mini_batch_dictionary_learning import MiniBatchDictionaryLearning
from tercet.decomposition.dictionary.sparse_coder import SparseCoder
from tercet.decomposition.dictionary.sparse_encode import sparse_encode
from tercet.decomposition.incremental_pca import IncrementalPCA
from tercet.decomposition.kernel_pca import KernelPCA
from tercet.decomposition.low_rank import (
    condition_number,
    frobenius_norm,
    geometric_stages,
    low_rank_approximation,
    outer_product_expansion,
    pseudo_inverse,
)
from tercet.decomposition.matrix_losses import divergence_loss, squared_loss
from tercet.decomposition.mini_batch_nmf import MiniBatchNMF
from tercet.decomposition.multiplicative_updates import gradient_step, multiplicative_step
from tercet.decomposition.nmf import NMF, non_negative_factorization
from tercet.decomposition.nndsvd import nndsvd
from tercet.decomposition.pca import PCA
from tercet.decomposition.population import (
    choose_n_components,
    contribution_rates,
    correlation_matrix,
    factor_loadings,
    linear_projection,
    principal_components,
    projected_variance,
    sample_moments,
    standardize,
    variable_contributions,
)
from tercet.decomposition.randomized import randomized_svd
from tercet.decomposition.rank_selection import RankSelection, held_out_rank
from tercet.decomposition.subspaces import (
    are_orthogonal,
    column_space,
    fundamental_subspaces,
    in_span,
    is_independent,
    left_null_space,
    null_space,
    nullity,
    orthogonal_complement,
    projector,
    rank,
    row_space,
)
from tercet.decomposition.svd import eigen_steps, svd
from tercet.decomposition.truncated_svd import TruncatedSVD
from tercet.topic.latent_dirichlet_allocation import LatentDirichletAllocation

__all__ = [
    "NMF",
    "PCA",
    "AlternatingLeastSquares",
    "CompressedSensing",
    "DictionaryLearning",
    "FactorAnalysis",
    "FastICA",
    "IncrementalPCA",
    "KernelPCA",
    "LatentDirichletAllocation",
    "MatrixCompletion",
    "MiniBatchDictionaryLearning",
    "MiniBatchNMF",
    "MiniBatchSparsePCA",
    "RankSelection",
    "Ratings",
    "SparseCoder",
    "SparsePCA",
    "TruncatedSVD",
    "are_orthogonal",
    "basis_pursuit",
    "basis_pursuit_denoising",
    "choose_n_components",
    "column_space",
    "condition_number",
    "contribution_rates",
    "correlation_matrix",
    "dict_learning",
    "dict_learning_online",
    "divergence_loss",
    "eigen_steps",
    "estimate_restricted_isometry",
    "factor_loadings",
    "fastica",
    "frobenius_norm",
    "fundamental_subspaces",
    "geometric_stages",
    "gradient_step",
    "held_out_rank",
    "in_span",
    "is_independent",
    "iterative_hard_thresholding",
    "ksvd_atom_update",
    "l0_minimization",
    "left_null_space",
    "linear_projection",
    "low_rank_approximation",
    "measurement_matrix",
    "multiplicative_step",
    "mutual_coherence",
    "nndsvd",
    "non_negative_factorization",
    "nuclear_norm",
    "null_space",
    "nullity",
    "orthogonal_complement",
    "outer_product_expansion",
    "principal_components",
    "projected_variance",
    "projector",
    "pseudo_inverse",
    "randomized_svd",
    "rank",
    "ratings_matrix",
    "restricted_isometry_constant",
    "row_space",
    "sample_moments",
    "singular_value_threshold",
    "sparse_encode",
    "squared_loss",
    "standardize",
    "svd",
    "variable_contributions",
]
