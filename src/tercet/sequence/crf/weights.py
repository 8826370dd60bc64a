"""The weights of a chain by name: chosen at first, then learned, looked at, and forgotten."""

from __future__ import annotations

import fnmatch
import re
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tercet.core.steps import Steps
from tercet.sequence.crf._engine.products import Features
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.crf.features import choose_features
from tercet.sequence.crf.tagging import TokenEstimator
from tercet.sequence.text.sequences import Sequences

KINDS = {"state": "pairs", "transition": "pairs", "bigram": "triples"}  # of weights, in their order


class ChainWeights(TokenEstimator):
    """A method whose weights belong to (attribute, label), (label, label) and perhaps (attribute, label, label)."""

    min_freq: float
    all_possible_states: bool
    all_possible_transitions: bool
    constraints: Any
    verbose: Any
    state_pairs_: np.ndarray
    state_weights_: np.ndarray
    transition_pairs_: np.ndarray
    transition_weights_: np.ndarray
    bigram_triples_: np.ndarray = np.empty((0, 3), dtype=np.int64)
    bigram_weights_: np.ndarray = np.empty(0)

    def _choose(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> Features:
        features = choose_features(
            X, y, weight, self.classes_.size, min_freq=self.min_freq, all_states=self.all_possible_states,
            all_transitions=self.all_possible_transitions, acting=self._acting(),
        )  # fmt: skip
        masks_of(self.constraints, self.classes_.tolist())  # what is wrong with them is said before the work
        if not features.size:
            raise ValueError(f"{type(self).__name__}: min_freq={self.min_freq} leaves no feature.")
        return features

    def _acting(self) -> np.ndarray:
        """The columns of the attributes that act on transitions."""
        asked = self.transition_attributes
        if asked is None:
            return np.empty(0, dtype=np.int64)
        patterns = [asked] if isinstance(asked, str) else list(asked)
        if not all(isinstance(pattern, str) for pattern in patterns):
            raise ValueError(
                f"{type(self).__name__}: transition_attributes must be a pattern or a list of patterns, which are "
                f"strings; got {asked!r}."
            )
        meant = re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
        found = (column for name, column in self.vocabulary_.items() if meant.match(name))
        return np.array(sorted(found), dtype=np.int64)

    def _without(self, X: Sequences, y: np.ndarray, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """The sequences that weigh something, and the labels that are left."""
        X, y, weight = weighty(X, y, weight)
        present, index = np.unique(np.append(y, -1), return_inverse=True)
        self.classes_ = self.classes_[present[1:]]
        self._refuse_few()
        return X, index[:-1] - 1, weight

    def _loop(
        self, features: Features, limit: int, unpack: Any = None, watch: Any = None, **more: Any
    ) -> Steps:
        """A loop whose states are weights, or become weights by `unpack`."""
        more.setdefault("hint", "Raise max_iterations, epsilon or delta, or use an L2 penalty (c2).")

        def look(step: Steps) -> Any:
            if self.verbose:
                said = ", ".join(f"{name} {value:.6g}" for name, value in step.measures.items())
                print(f"pass {step.count}: {said}")
            return watch is not None and watch(step)

        def attributes(state: Any) -> dict[str, Any]:
            return self._model(features, state if unpack is None else unpack(state))

        return self.steps(limit, unpack=attributes, watch=look, **more)

    def _model(self, features: Features, w: np.ndarray) -> dict[str, Any]:
        states, transitions, bigrams = features.split(w)
        model = {
            "state_pairs_": np.column_stack([features.attribute, features.label]).astype(np.int64),
            "state_weights_": states.copy(),
            "transition_pairs_": features.edges.astype(np.int64),
            "transition_weights_": transitions.copy(),
        }
        if "transition_attributes" in vars(self):  # what takes them also says that it found none
            model["bigram_triples_"] = _triples(features)
            model["bigram_weights_"] = bigrams.copy()
        return model

    def _features(self) -> Features:
        n_attributes, N = self.n_features_in_, self.classes_.size
        for name, places, high in (
            ("state_pairs_", self.state_pairs_, (n_attributes, N)),
            ("transition_pairs_", self.transition_pairs_, (N, N)),
            ("bigram_triples_", self.bigram_triples_, (n_attributes, N, N)),
        ):
            if places.size and (places.min() < 0 or (places.max(axis=0) >= high).any()):
                raise ValueError(f"{type(self).__name__}: {name} must be indices below {high}.")
        attribute, label = self.state_pairs_.T
        features = Features.of_states(attribute, label, n_attributes, N)
        features = features._replace(edges=self.transition_pairs_)
        if not len(self.bigram_triples_):
            return features
        attribute, before, label = self.bigram_triples_.T
        return features._replace(
            bigrams=Features.of_states(attribute, before * N + label, n_attributes, N * N)
        )

    def _all_weights(self) -> np.ndarray:
        """The weights of states, transitions and bigrams in one vector."""
        return np.concatenate([getattr(self, f"{kind}_weights_") for kind in KINDS])

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weights of (attribute, label)."""
        names, labels, pairs = self.attributes_, self.classes_.tolist(), self.state_pairs_.tolist()
        return {(names[a], labels[k]): w for (a, k), w in zip(pairs, self.state_weights_.tolist())}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of (label from, label to)."""
        labels, pairs = self.classes_.tolist(), self.transition_pairs_.tolist()
        return {(labels[i], labels[j]): w for (i, j), w in zip(pairs, self.transition_weights_.tolist())}

    @property
    def bigram_features_(self) -> dict[tuple[str, Any, Any], float]:
        """The weights of (attribute, label from, label to)."""
        return {(name, i, j): w for w, i, j, name in self._named_bigrams(slice(None))}

    @property
    def num_attributes_(self) -> int:
        """How many attributes there are."""
        return len(self.vocabulary_)

    @property
    def size_(self) -> int:
        """The bytes of all weights and their places."""
        names = [f"{kind}_{what}_" for kind, places in KINDS.items() for what in (places, "weights")]
        return sum(getattr(self, name).nbytes for name in names)

    def top_features(self, n: int = 20) -> list[tuple[float, Any, str]]:
        """The n heaviest (attribute, label), as (weight, label, attribute); the lightest with a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        order = heaviest(self.state_weights_, n)
        names, labels = self.attributes_, self.classes_.tolist()
        pairs = self.state_pairs_[order].tolist()
        return [(w, labels[k], names[a]) for w, (a, k) in zip(self.state_weights_[order].tolist(), pairs)]

    def top_transitions(self, n: int = 20) -> list[tuple[float, Any, Any]]:
        """The n heaviest transitions, as (weight, from, to); the lightest with a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        order = heaviest(self.transition_weights_, n)
        labels, pairs = self.classes_.tolist(), self.transition_pairs_[order].tolist()
        return [
            (w, labels[i], labels[j]) for w, (i, j) in zip(self.transition_weights_[order].tolist(), pairs)
        ]

    def top_bigrams(self, n: int = 20) -> list[tuple[float, Any, Any, str]]:
        """The n heaviest transitions with an attribute, as (weight, from, to, attribute); the lightest with a
        negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return self._named_bigrams(heaviest(self.bigram_weights_, n))

    def _named_bigrams(self, some: Any) -> list[tuple[float, Any, Any, str]]:
        names, labels = self.attributes_, self.classes_.tolist()
        weights, triples = self.bigram_weights_[some].tolist(), self.bigram_triples_[some].tolist()
        return [(w, labels[i], labels[j], names[a]) for w, (a, i, j) in zip(weights, triples)]

    def prune(self, threshold: float = 0.0) -> Self:
        """Forget the weights whose size is not above a threshold; attributes stay.

        Parameters
        ----------
        threshold : float, default=0.0
            The largest size to forget.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        kept = {kind: np.abs(getattr(self, f"{kind}_weights_")) > threshold for kind in KINDS}
        for kind, here in kept.items():
            if not here.all():
                for name in (f"{kind}_weights_", f"{kind}_{KINDS[kind]}_"):
                    setattr(self, name, getattr(self, name)[here])
        self._forget(np.concatenate(list(kept.values())))
        return self

    def _forget(self, kept: np.ndarray) -> None:
        """Where a method keeps more about each weight: only that of some."""


def weighty(X: Sequences, y: np.ndarray, weight: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The sequences that weigh something, with their labels."""
    there = np.flatnonzero(weight)
    return X[there], X.with_rows(y)[there].rows, weight[there]


def _triples(features: Features) -> np.ndarray:
    """Attribute, label from and label to of each bigram."""
    if features.bigrams is None:
        return np.empty((0, 3), dtype=np.int64)
    pair = np.divmod(features.bigrams.label.astype(np.int64), features.n_labels)
    return np.column_stack([features.bigrams.attribute, *pair])


def heaviest(weights: np.ndarray, n: int) -> np.ndarray:
    """The places of the n largest weights, largest first; of the smallest, smallest first, for a negative n."""
    return np.argsort(-weights if n >= 0 else weights, kind="stable")[: abs(n)]


def by_rows(X: Sequences) -> Sequences:
    """The tokens as CSR rows."""
    return X if sparse.issparse(X.rows) else X.with_rows(sparse.csr_array(X.rows))


__all__ = ["ChainWeights", "by_rows", "weighty"]
