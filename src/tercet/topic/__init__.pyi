from tercet.topic.coherence import coherence
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
    "document_completion",
    "document_elbo",
    "generate_documents",
    "infer_document",
    "newton_alpha",
    "plsa_parameter_counts",
    "plsa_step",
    "sample_documents",
    "to_cooccurrence",
    "to_generative",
    "variational_em",
    "word_perplexity",
]
