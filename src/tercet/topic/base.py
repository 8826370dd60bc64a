"""What topic models share: input of documents, names of words, top words and similarity of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Codes, Declarations, Floats
from tercet.core.scaling import LARGE
from tercet.core.validation import check_array, target_for_callbacks
from tercet.topic.documents import count_documents, listed_documents, without_zeros
from tercet.topic.topic_distances import SIMILARITIES


class TopicModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A method that describes documents by topics, and topics by words.

    `_fit` gets documents as a CSR array of counts (`scipy.sparse.csr_array`, each entry once, no stored zeros),
    whatever the caller gave: see `tercet.topic.documents`. `components_` has a row for each topic and a column for
    each word; its rows are P(w|z), or in proportion to it.
    """

    positive_only = True
    largest_value = LARGE
    empty_corpus: ClassVar[bool] = False  # learns from documents without a single word (a prior decides)
    streams_instead = "LatentDirichletAllocation with learning_method='online' or 'batch'"
    width_checked_attributes: ClassVar[tuple[str, ...]] = ("components_",)
    fitted_shapes: ClassVar[Declarations] = {
        "components_": Floats("components features", finite=True, low=0.0),
        "vocabulary_": Codes("features"),
    }
    components_: np.ndarray
    n_features_in_: int
    vocabulary_: dict[str, int]

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        documents = listed_documents(X)
        if documents is None:
            if reset:
                self.__dict__.pop("vocabulary_", None)  # of an earlier fit
            counts = without_zeros(super()._check(X, reset=reset))
        else:
            counts = self._counted(documents, reset)
        if reset and not counts.nnz and not self.empty_corpus:
            raise ValueError(
                f"{type(self).__name__}: X has no words: all counts of its {counts.shape[0]} documents are zero."
            )
        return counts if y is NO_TARGET else (counts, target_for_callbacks(y, counts.shape[0]))

    def _check_streamed(self, X: Any) -> Any:
        self.__dict__.pop("vocabulary_", None)  # of an earlier fit
        return X

    def _encode(self, y: Any) -> None:
        return None

    def _counted(self, documents: list[Any], reset: bool) -> Any:
        """Documents as counts; `reset` learns the vocabulary."""
        if not reset:
            counted = count_documents(documents, self._known_words(documents), self.n_features_in_)
            self._check_widths(counted.counts.shape[1])
            return counted.counts
        counted = count_documents(documents)
        if not counted.counts.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: X has no words: its {len(documents)} documents are empty."
            )
        for name in ("vocabulary_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if counted.vocabulary is not None:
            self.vocabulary_ = counted.vocabulary
        self.n_features_in_ = counted.counts.shape[1]
        return counted.counts

    def _known_words(self, documents: list[Any]) -> dict[str, int] | None:
        """The column of each word, where documents are tokens; an error where the model knows no words."""
        if not any(isinstance(document[0], str) for document in documents if document):
            return None
        if hasattr(self, "vocabulary_"):
            return self.vocabulary_
        if hasattr(self, "feature_names_in_"):
            return {str(word): column for column, word in enumerate(self.feature_names_in_)}
        raise ValueError(
            f"{type(self).__name__}: X holds tokens, but the model was fitted to counts without names of words; "
            "give counts, or fit it to tokens or to a frame whose columns are words."
        )

    def unseen_words(self, X: Any) -> np.ndarray:
        """How many words of each document the model does not know; `transform` leaves them out.

        Parameters
        ----------
        X : list of lists of str, or list of lists of (int, number)
            Tokens, or bags of words.

        Returns
        -------
        unseen : array of int of shape (n_documents,)
            All zero where X is a table of counts, whose columns are the words of the model.
        """
        check_is_fitted(self)
        documents = listed_documents(X)
        if documents is None:
            return np.zeros(self._check(X, reset=False).shape[0], dtype=np.int64)
        return count_documents(documents, self._known_words(documents), self.n_features_in_).unseen

    def words(self, feature_names: Any = None) -> np.ndarray:
        """The names of the words.

        Parameters
        ----------
        feature_names : array of str of shape (n_features,), or dict of int to str, optional
            The names, or gensim's `id2word`. By default the columns of the frame or the tokens that the model was
            fitted to; without such, x0, x1, ...

        Returns
        -------
        words : array of object of shape (n_features,)
        """
        check_is_fitted(self)
        width = self.n_features_in_
        if isinstance(feature_names, Mapping):
            return np.array([str(feature_names.get(j, f"x{j}")) for j in range(width)], dtype=object)
        if feature_names is not None:
            names = np.asarray(feature_names, dtype=object)
            if names.shape != (width,):
                raise ValueError(
                    f"feature_names must have a name for each of the {width} words; its shape is {names.shape}."
                )
            return names
        if hasattr(self, "vocabulary_"):
            names = np.array([f"x{j}" for j in range(width)], dtype=object)
            for word, column in self.vocabulary_.items():
                names[column] = word
            return names
        default = np.array([f"x{j}" for j in range(width)], dtype=object)
        return np.asarray(getattr(self, "feature_names_in_", default), dtype=object)

    def top_words(
        self, n_words: int = 10, feature_names: Any = None, *, with_weights: bool = False
    ) -> list[list[Any]]:
        """The words that say most about each topic.

        Parameters
        ----------
        n_words : int, default=10
            How many words of each topic.
        feature_names : array of str of shape (n_features,), or dict of int to str, optional
            The names of the words; by default those that the model was fitted with.
        with_weights : bool, default=False
            Give pairs of a word and its weight: P(w|z), or the entry of `components_` where these may be negative.

        Returns
        -------
        topics : list of n_components lists
            The words of each topic, those with most weight first (of equal ones that with the first column).
        """
        names = self.words(feature_names)
        if not isinstance(n_words, int | np.integer) or n_words < 1:
            raise ValueError(f"n_words must be a whole number of at least 1; got {n_words!r}.")
        weights = self.topic_word_distribution()
        order = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :n_words]
        if not with_weights:
            return [names[row].tolist() for row in order]
        return [[(names[j], float(topic[j])) for j in row] for topic, row in zip(weights, order)]

    def topic_word_distribution(self) -> np.ndarray:
        """P(w|z): the rows of `components_`, each with the sum 1. Those that may be negative are left as they are.

        Returns
        -------
        distribution : array of shape (n_components, n_features)
        """
        check_is_fitted(self)
        weights = np.asarray(self.components_, dtype=np.float64)
        if weights.min(initial=0.0) < 0:
            return weights
        totals = weights.sum(axis=1, keepdims=True)
        return np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)

    def topic_similarity(
        self, metric: Literal["cosine", "jensen-shannon", "hellinger"] = "cosine"
    ) -> np.ndarray:
        """How alike the topics are.

        Parameters
        ----------
        metric : {"cosine", "jensen-shannon", "hellinger"}, default="cosine"
            The cosine of the rows of `components_`; 1 less the Jensen-Shannon divergence (in bits) of P(w|z); or 1
            less the Hellinger distance of P(w|z).

        Returns
        -------
        similarity : array of shape (n_components, n_components)
            Symmetric; 1 on the diagonal.
        """
        if metric not in SIMILARITIES:
            known = ", ".join(map(repr, SIMILARITIES))
            raise ValueError(f"metric must be one of {known}; got {metric!r}.")
        weights = self.topic_word_distribution()
        if metric != "cosine" and weights.min(initial=0.0) < 0:
            raise ValueError(
                f"metric={metric!r} compares distributions; the components of {type(self).__name__} have negative "
                'entries: use metric="cosine".'
            )
        return SIMILARITIES[metric](weights)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """P(w|d) of documents: points of the simplex that the topics span.

        Parameters
        ----------
        X : array of shape (n_documents, n_components)
            P(z|d).

        Returns
        -------
        word_probabilities : array of shape (n_documents, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"{type(self).__name__}: X has {X.shape[1]} columns; expected are {len(self.components_)}, one for "
                "each topic."
            )
        return X @ self.topic_word_distribution().astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True  # lists of tokens
        return tags
