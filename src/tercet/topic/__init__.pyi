from tercet.topic.documents import count_documents
from tercet.topic.lsa import LSA

__all__ = [
    "LSA",
    "count_documents",
]
