from tercet.topic.coherence import coherence
from tercet.topic.collapsed_gibbs import (
    lda_collapsed_gibbs,
    lda_conditional,
    lda_counts,
    lda_gibbs_sweep,
    lda_infer,
    lda_log_joint,
    lda_phi,
    lda_theta,
)
from tercet.topic.dirichlet_priors import (
    dirichlet_multinomial_log_likelihood,
    minka_fixed_point,
    newton_dirichlet_prior,
)
from tercet.topic.documents import count_documents
from tercet.topic.factorization_view import bregman_divergence, factorization_log_density
from tercet.topic.generative_process import generate_documents
from tercet.topic.latent_dirichlet_allocation import LatentDirichletAllocation
from tercet.topic.perplexity import document_completion, word_perplexity
from tercet.topic.plsa import PLSA
from tercet.topic.plsa_steps import (
    cooccurrence_step,
    plsa_parameter_counts,
    plsa_step,
    sample_documents,
    to_cooccurrence,
    to_generative,
)
from tercet.topic.pyldavis import pyldavis_data
from tercet.topic.topic_dictionary import count_topic_words
from tercet.topic.variational_em import document_elbo, infer_document, variational_em
from tercet.topic.variational_priors import minka_alpha, newton_alpha

__all__ = [
    "PLSA",
    "LatentDirichletAllocation",
    "bregman_divergence",
    "coherence",
    "cooccurrence_step",
    "count_documents",
    "count_topic_words",
    "dirichlet_multinomial_log_likelihood",
    "document_completion",
    "document_elbo",
    "factorization_log_density",
    "generate_documents",
    "infer_document",
    "lda_collapsed_gibbs",
    "lda_conditional",
    "lda_counts",
    "lda_gibbs_sweep",
    "lda_infer",
    "lda_log_joint",
    "lda_phi",
    "lda_theta",
    "minka_alpha",
    "minka_fixed_point",
    "newton_alpha",
    "newton_dirichlet_prior",
    "plsa_parameter_counts",
    "plsa_step",
    "pyldavis_data",
    "sample_documents",
    "to_cooccurrence",
    "to_generative",
    "variational_em",
    "word_perplexity",
]
