from tercet.feature.column_inference import Column
from tercet.feature.records import Records
from tercet.feature.schema import Schema, infer_schema
from tercet.feature.table_encoder import TableEncoder
from tercet.feature.text.count_vectorizer import CountVectorizer
from tercet.feature.text.similarity import cosine_similarity, inner_product_similarity
from tercet.feature.text.tfidf_transformer import TfidfTransformer
from tercet.feature.text.tfidf_vectorizer import TfidfVectorizer
from tercet.feature.text.tokenization import strip_accents_ascii, strip_accents_unicode, strip_tags
from tercet.feature.text.vector_space_retrieval import Ranking, VectorSpaceRetrieval

__all__ = [
    "Column",
    "CountVectorizer",
    "Ranking",
    "Records",
    "Schema",
    "TableEncoder",
    "TfidfTransformer",
    "TfidfVectorizer",
    "VectorSpaceRetrieval",
    "cosine_similarity",
    "infer_schema",
    "inner_product_similarity",
    "strip_accents_ascii",
    "strip_accents_unicode",
    "strip_tags",
]
