from tercet.topic.documents import count_documents

__all__ = [
    "count_documents",
]
