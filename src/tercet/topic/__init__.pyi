from tercet.topic.coherence import coherence
from tercet.topic.documents import count_documents
from tercet.topic.factorization_view import bregman_divergence, factorization_log_density
from tercet.topic.lsa import LSA
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

__all__ = [
    "LSA",
    "PLSA",
    "bregman_divergence",
    "coherence",
    "cooccurrence_step",
    "count_documents",
    "count_topic_words",
    "factorization_log_density",
    "plsa_parameter_counts",
    "plsa_step",
    "pyldavis_data",
    "sample_documents",
    "to_cooccurrence",
    "to_generative",
]
