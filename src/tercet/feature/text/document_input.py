"""Checks of what vectorizers are given: documents, vocabularies, encodings."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tercet.core.input_errors import shown


def check_encoding(encoding: str, who: str) -> None:
    """Refuse an encoding that Python does not know."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(
            f"{who}: parameter 'encoding' must be an encoding that Python knows, such as 'utf-8'; got {encoding!r}."
        ) from None


def given_vocabulary(vocabulary: Any, who: str) -> dict[Any, int]:
    """A vocabulary that the user gives: terms in the order of their columns, or a dict with the columns."""
    if isinstance(vocabulary, str | bytes):
        raise ValueError(
            f"{who}: parameter 'vocabulary' must be a dict or an iterable of terms; got {vocabulary!r}."
        )
    if not isinstance(vocabulary, Mapping):
        found: dict[Any, int] = {}
        for term in sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else vocabulary:
            if not isinstance(term, Hashable):
                raise ValueError(f"{who}: vocabulary must hold terms; got {shown(term)}.")
            if term in found:
                raise ValueError(f"{who}: Duplicate term in vocabulary: {term!r}")
            found[term] = len(found)
    else:
        found = dict(vocabulary)
        columns = set(found.values())
        if len(columns) != len(found):
            raise ValueError(f"{who}: Vocabulary contains repeated indices.")
        for column in range(len(found)):
            if column not in columns:
                raise ValueError(f"{who}: Vocabulary of size {len(found)} doesn't contain index {column}.")
    if not found:
        raise ValueError(f"{who}: empty vocabulary passed to fit")
    return found


def checked_documents(documents: Any, who: str) -> Any:
    """Raw documents, or an error where they are none."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            f"{who}: X is a single text. Iterable over raw text documents expected, string object received."
        )
    if isinstance(documents, Mapping) or not hasattr(documents, "__iter__"):
        raise TypeError(f"{who}: X must be a list or another iterable of documents; got {shown(documents)}.")
    shape = getattr(documents, "shape", (0,))
    if len(shape) != 1:
        raise ValueError(
            f"{who}: X has the shape {shape}; documents have one dimension. Of a frame, give the column that holds "
            "the texts."
        )
    return documents


def as_objects(things: Iterable[Any]) -> np.ndarray:
    """An array of objects with one axis, whatever they are: lists of tokens of one length, too."""
    listed = list(things)
    found = np.empty(len(listed), dtype=object)
    for place, thing in enumerate(listed):
        found[place] = thing
    return found


class Last:
    """Documents one after the other, and the last one that was taken, for the errors that it makes."""

    def __init__(self, documents: Any) -> None:
        self.documents, self.place, self.document = documents, -1, None

    def __iter__(self) -> Iterator[Any]:
        for place, document in enumerate(self.documents):
            self.place, self.document = place, document
            yield document


def document_error(vectorizer: Any, analyze: Callable[[Any], Any], seen: Last, error: Exception) -> Exception:
    """An error that says what is wrong with the document that made one; itself where a function of the user did."""
    sentence = _sentence(vectorizer, analyze, seen, error)
    if not sentence:
        return error
    kind = AttributeError if vectorizer.input == "file" else TypeError
    return kind(f"{type(vectorizer).__name__}: {sentence}")


def _sentence(vectorizer: Any, analyze: Callable[[Any], Any], seen: Last, error: Exception) -> str:
    document = f"X[{seen.place}] is {shown(seen.document)}"
    if vectorizer.input == "file" and not hasattr(seen.document, "read"):
        return f"with input='file' documents need a method read; {document}: {error}"
    if vectorizer.analyzer == "tokens":
        return f"{document}; with analyzer='tokens' documents are lists of tokens, which are strings."
    by_user = callable(vectorizer.analyzer) or vectorizer.preprocessor is not None
    if not by_user and vectorizer.input == "content" and not isinstance(seen.document, str | bytes):
        return (
            f"{document}; documents must be texts (str or bytes), or a preprocessor or an analyzer must make "
            "texts of them."
        )
    if vectorizer.input != "content" or not (
        callable(vectorizer.analyzer) or vectorizer.tokenizer is not None
    ):
        return ""
    what = "analyzer" if callable(vectorizer.analyzer) else "tokenizer"
    found = analyze(seen.document)
    if isinstance(found, Iterable) and all(isinstance(term, Hashable) for term in found):
        return ""
    return f"the {what} must give a list of terms; of X[{seen.place}] it gives {shown(found)}."
