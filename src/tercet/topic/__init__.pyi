from tercet.topic.coherence import coherence
from tercet.topic.documents import count_documents
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
from tercet.topic.topic_dictionary import count_topic_words

__all__ = [
    "LSA",
    "PLSA",
    "coherence",
    "cooccurrence_step",
    "count_documents",
    "count_topic_words",
    "plsa_parameter_counts",
    "plsa_step",
    "sample_documents",
    "to_cooccurrence",
    "to_generative",
]
