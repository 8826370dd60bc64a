"""From a document to its terms: decoding, preprocessing, tokenization, stop words, n-grams."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import NotFittedError

from tercet.core.estimator import Estimator
from tercet.core.fitted_checks import Declarations, Keys, OneOf
from tercet.core.input_errors import shown
from tercet.core.symbolic_shapes import Sizes
from tercet.feature.text.document_input import check_encoding, given_vocabulary
from tercet.feature.text.tokenization import (
    LETTERS,
    SEGMENTERS,
    bounded_ngrams,
    character_ngrams,
    has_jieba,
    latin_words,
    stop_word_set,
    strip_accents_ascii,
    strip_accents_unicode,
    word_ngrams,
)

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
SPLITS_TEXT = ("word", "chinese", "tokens")  # analyzers that find words, and not characters
STEPS = ("build_analyzer", "build_preprocessor", "build_tokenizer", "get_stop_words", "decode")
ACCENTS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}


@dataclass(frozen=True)
class Analyzer:
    """Steps from a document to its terms; those that are None are left out."""

    decode: Callable[[Any], Any]
    preprocess: Callable[[Any], Any] | None = None
    tokenize: Callable[[Any], Any] | None = None
    stop_words: frozenset[str] | None = None
    ngrams: Callable[[Any], Any] | None = None

    def __call__(self, document: Any) -> Any:
        document = self.decode(document)
        if self.preprocess is not None:
            document = self.preprocess(document)
        if self.tokenize is not None:
            document = self.tokenize(document)
        if self.stop_words:
            document = [word for word in document if word not in self.stop_words]
        return document if self.ngrams is None else self.ngrams(document)


@dataclass(frozen=True)
class WordAnalyzer:
    """The words of texts by the default pattern. Words of one letter and stop words are left to be skipped."""

    decode: Callable[[Any], Any]
    preprocess: Callable[[str], str]
    lowercase: bool
    accents: bool
    by_pattern: Callable[[str], list[str]]

    def __call__(self, document: Any) -> list[str]:
        if type(document) is not str:
            document = self.decode(document)
        if document.isascii() or not self.accents:
            words = latin_words(document, self.lowercase)
            if words is not None:
                return words
        return self.by_pattern(self.preprocess(document))


def decoded(document: Any, source: str, encoding: str, errors: str) -> Any:
    """A document as text: read from a file where `source` says so, bytes decoded."""
    if source == "filename":
        with open(document, "rb") as file:
            document = file.read()
    elif source == "file":
        document = document.read()
    if isinstance(document, bytes):
        try:
            return document.decode(encoding, errors)
        except UnicodeDecodeError as error:
            error.reason += (
                "; a document of X is in another encoding: give it as encoding, or set decode_error"
            )
            raise
    if isinstance(document, float) and document != document:
        raise ValueError("X: np.nan is an invalid document, expected byte or unicode string.")
    return document


def preprocessed(document: str, lowercase: bool, strip_accents: Callable[[str], str] | None) -> str:
    """A text in lower case and without accents, as asked for."""
    if lowercase:
        document = document.lower()
    return document if strip_accents is None else strip_accents(document)


def as_tokens(document: Any) -> list[Any]:
    """A document that is a list of tokens already."""
    if isinstance(document, str | bytes) or not isinstance(document, Iterable):
        raise TypeError("not a list of tokens")
    return list(document)


class DocumentAnalysis(Estimator):
    """What vectorizers of raw text share: their parameters say how a document becomes terms."""

    sparse_input = False
    fitted_shapes: ClassVar[Declarations] = {
        "vocabulary_": Keys({}),
        "segmenter_": OneOf(tuple(SEGMENTERS)),
    }
    input: Literal["filename", "file", "content"]
    encoding: str
    decode_error: Literal["strict", "ignore", "replace"]
    strip_accents: Any
    lowercase: bool
    preprocessor: Callable[..., Any] | None
    tokenizer: Callable[..., Any] | None
    stop_words: Any
    token_pattern: str | None
    ngram_range: tuple[int, int]
    analyzer: Any
    vocabulary: Any
    vocabulary_: dict[Any, int]
    segmenter_: str
    fixed_vocabulary_: bool

    def decode(self, doc: Any) -> Any:
        """A document as text.

        Parameters
        ----------
        doc : str, bytes, file or path
            What `input` says.

        Returns
        -------
        doc : str
        """
        return decoded(doc, self.input, self.encoding, self.decode_error)

    def build_preprocessor(self) -> Callable[[Any], Any]:
        """The function that a text goes through before it is split.

        Returns
        -------
        preprocessor : callable
        """
        if self.preprocessor is not None:
            return self.preprocessor
        accents = self.strip_accents
        if accents and not callable(accents):
            if accents not in ACCENTS:
                raise ValueError(
                    f'Invalid value for "strip_accents": {accents!r}; allowed are "ascii", "unicode", a '
                    "callable and None."
                )
            accents = ACCENTS[accents]
        return functools.partial(preprocessed, lowercase=self.lowercase, strip_accents=accents or None)

    def build_tokenizer(self) -> Callable[[Any], Any]:
        """The function that splits a text into tokens.

        Returns
        -------
        tokenizer : callable
        """
        if self.tokenizer is not None:
            return self.tokenizer
        if self.token_pattern is None:
            raise ValueError(f"{type(self).__name__}: token_pattern is None: give a pattern, or a tokenizer.")
        try:
            pattern = re.compile(self.token_pattern)
        except re.error as error:
            raise ValueError(
                f"{type(self).__name__}: token_pattern={self.token_pattern!r} is no regular expression: {error}."
            ) from None
        if pattern.groups > 1:
            raise ValueError(
                "More than 1 capturing group in token pattern. Only a single group should be captured; got "
                f"token_pattern={self.token_pattern!r}."
            )
        return pattern.findall

    def get_stop_words(self) -> frozenset[str] | None:
        """The words that are left out.

        Returns
        -------
        stop_words : frozenset or None
        """
        return stop_word_set(self.stop_words)

    def build_analyzer(self) -> Callable[[Any], Any]:
        """The function that gives the terms of a document.

        Returns
        -------
        analyzer : callable
        """
        check_encoding(self.encoding, type(self).__name__)
        decode: Callable[[Any], Any] = functools.partial(
            decoded, source=self.input, encoding=self.encoding, errors=self.decode_error
        )
        if callable(self.analyzer):
            return Analyzer(decode, tokenize=self.analyzer)
        low, high = self.ngram_range
        if self.analyzer in ("char", "char_wb"):
            cut = character_ngrams if self.analyzer == "char" else bounded_ngrams
            return Analyzer(
                decode, self.build_preprocessor(), ngrams=functools.partial(cut, low=low, high=high)
            )
        if self.analyzer not in SPLITS_TEXT:
            raise ValueError(f"{self.analyzer!r} is not a valid tokenization scheme/analyzer")
        preprocess: Callable[[Any], Any] | None = self.build_preprocessor()
        tokenize: Callable[[Any], Any]
        if self.analyzer == "tokens":
            decode, preprocess, tokenize = as_tokens, None, list
        else:
            tokenize = self._segment() if self.analyzer == "chinese" else self.build_tokenizer()
        stop_words = self.get_stop_words()
        if preprocess is not None:
            self._check_stop_words_consistency(stop_words, preprocess, tokenize)
        ngrams = None if (low, high) == (1, 1) else functools.partial(word_ngrams, low=low, high=high)
        return Analyzer(decode, preprocess, tokenize, stop_words, ngrams)

    def _segment_name(self) -> str:
        return getattr(self, "segmenter_", None) or ("jieba" if has_jieba() else "bigrams")

    def _segment(self) -> Callable[[str], list[str]]:
        """The function that finds words of Chinese texts: that of the fit, else jieba where it is installed."""
        name = self._segment_name()
        if name == "jieba" and not has_jieba():
            raise ValueError(
                f"{type(self).__name__}: the vocabulary was learned from words that jieba found, and jieba is not "
                "installed here: install it, or fit again."
            )
        return SEGMENTERS[name]

    def _counting(self) -> tuple[Callable[[Any], Any], Iterable[str]]:
        """The analyzer, and terms that it gives which are not to be counted."""
        plain = (
            self.analyzer == "word"
            and self.input == "content"
            and self.tokenizer is None
            and self.preprocessor is None
            and self.token_pattern == TOKEN_PATTERN
            and self.ngram_range == (1, 1)
            and not callable(self.strip_accents)
        )
        analyzer = self.build_analyzer()
        overridden = any(getattr(type(self), name) is not getattr(DocumentAnalysis, name) for name in STEPS)
        if not plain or overridden or not isinstance(analyzer, Analyzer) or analyzer.preprocess is None:
            return analyzer, ()
        # A run of at least two letters, from its first one, ends where the word ends: the pattern needs no \b.
        by_pattern = re.compile(r"\w\w+").findall
        accents = self.strip_accents is not None
        fast = WordAnalyzer(analyzer.decode, analyzer.preprocess, self.lowercase, accents, by_pattern)
        return fast, (*LETTERS, *(analyzer.stop_words or ()))

    def _check_stop_words_consistency(
        self,
        stop_words: frozenset[str] | None,
        preprocess: Callable[[Any], Any],
        tokenize: Callable[[Any], Any],
    ) -> bool | str | None:
        """Warn, once for each list, of stop words that the analysis of texts never gives as they are.

        True where there are none, None where the list is known, "error" where functions of the user cannot read it.
        """
        if id(self.stop_words) == getattr(self, "_stop_words_id", None):
            return None
        self._stop_words_id = id(self.stop_words)
        known = stop_words or frozenset()
        try:
            strange = {token for word in known for token in tokenize(preprocess(word)) if token not in known}
        except Exception:  # functions of the user for documents that are no texts
            return "error"
        if strange:
            warnings.warn(
                "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words generated "
                f"tokens {sorted(strange)!r} not in stop_words.",
                UserWarning,
                stacklevel=2,
            )
        return not strange

    def _check_ngram_range(self) -> None:
        """Refuse lengths of n-grams that are none."""
        span = self.ngram_range
        whole = len(span) == 2 and all(
            isinstance(n, int | np.integer) and not isinstance(n, bool) for n in span
        )
        if not whole or span[0] < 1:
            raise ValueError(
                f"{type(self).__name__}: parameter 'ngram_range' must be a pair of whole numbers of at least 1; "
                f"got {shown(span)}."
            )
        if span[0] > span[1]:
            raise ValueError(
                f"Invalid value for ngram_range={span} lower boundary larger than the upper boundary."
            )

    def _warn_of_unused_parameters(self) -> None:
        """Warn of parameters that others make idle."""
        own = callable(self.analyzer)
        words = not own and self.analyzer in SPLITS_TEXT
        idle = []
        if self.tokenizer is not None and self.token_pattern is not None:
            idle.append("'token_pattern' will not be used since 'tokenizer' is not None'")
        if own and self.preprocessor is not None:
            idle.append("'preprocessor' will not be used since 'analyzer' is callable'")
        if own and self.ngram_range not in ((1, 1), None):
            idle.append("'ngram_range' will not be used since 'analyzer' is callable'")
        if not words and self.stop_words is not None:
            idle.append("'stop_words' will not be used since 'analyzer' != 'word'")
        if own or self.analyzer != "word":
            if self.token_pattern not in (None, TOKEN_PATTERN):
                idle.append("'token_pattern' will not be used since 'analyzer' != 'word'")
            if self.tokenizer is not None:
                idle.append("'tokenizer' will not be used since 'analyzer' != 'word'")
        for what in idle:
            warnings.warn(f"The parameter {what}", UserWarning, stacklevel=4)

    def _take_vocabulary(self) -> None:
        """Set `fixed_vocabulary_`, and `vocabulary_` where it is given."""
        self.fixed_vocabulary_ = self.vocabulary is not None
        if self.fixed_vocabulary_:
            self.vocabulary_ = given_vocabulary(self.vocabulary, type(self).__name__)

    def _check_vocabulary(self) -> None:
        """Refuse to work without a vocabulary, learned or given."""
        if not hasattr(self, "vocabulary_"):
            self._take_vocabulary()
            if not self.fixed_vocabulary_:
                raise NotFittedError(
                    f"{type(self).__name__}: Vocabulary not fitted or provided. Call fit, or give vocabulary."
                )
        if len(self.vocabulary_) == 0:
            raise ValueError("Vocabulary is empty")

    def _check_fitted(self, sizes: Sizes) -> None:
        found = list(self.vocabulary_.values())
        whole = all(isinstance(code, int | np.integer) and not isinstance(code, bool) for code in found)
        if not whole or sorted(found) != list(range(len(found))):
            raise ValueError(
                f"{type(self).__name__}: vocabulary_ must give its {len(found)} terms the columns from 0 on."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
