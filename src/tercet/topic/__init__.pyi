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
    "document_completion",
    "document_elbo",
    "generate_documents",
    "infer_document",
    "newton_alpha",
    "variational_em",
    "word_perplexity",
]
