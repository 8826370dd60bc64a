from tercet.topic.documents import count_documents
from tercet.topic.plsa import PLSA
from tercet.topic.plsa_steps import (
    cooccurrence_step,
    plsa_parameter_counts,
    plsa_step,
    sample_documents,
    to_cooccurrence,
    to_generative,
)

__all__ = [
    "PLSA",
    "cooccurrence_step",
    "count_documents",
    "plsa_parameter_counts",
    "plsa_step",
    "sample_documents",
    "to_cooccurrence",
    "to_generative",
]
