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
from tercet.topic.variational_em import (
    document_elbo,
    infer_document,
    newton_alpha,
    variational_em,
)

__all__ = [
    "LatentDirichletAllocation",
    "count_documents",
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
    "variational_em",
    "word_perplexity",
]
