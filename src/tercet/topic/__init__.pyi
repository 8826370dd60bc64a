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
from tercet.topic.topic_dictionary import count_topic_words
from tercet.topic.variational_em import document_elbo, infer_document, newton_alpha, variational_em

__all__ = [
    "PLSA",
    "LatentDirichletAllocation",
    "coherence",
    "cooccurrence_step",
    "count_documents",
    "count_topic_words",
    "dirichlet_multinomial_log_likelihood",
    "document_completion",
    "document_elbo",
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
    "minka_fixed_point",
    "newton_alpha",
    "newton_dirichlet_prior",
    "plsa_parameter_counts",
    "plsa_step",
    "sample_documents",
    "to_cooccurrence",
    "to_generative",
    "variational_em",
    "word_perplexity",
]
