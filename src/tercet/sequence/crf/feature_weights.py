"""The features of token labellers and their weights: by index, by name, as one vector."""

from __future__ import annotations

import fnmatch
import operator
import re
import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.core.fitted_checks import Codes, Declarations, Floats, Indices
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import Features, choose_features
from tercet.sequence.crf.constraints import masks_of
from tercet.sequence.text.attributes import AttributeColumns

WEIGHTS = {"state": "pairs", "transition": "pairs", "bigram": "triples"}  # kinds of weights, in their order

# What was made of the weights of fitted models (tables, dicts by name); it is no part of a model's state.
_made: weakref.WeakKeyDictionary[Any, dict[str, tuple]] = weakref.WeakKeyDictionary()


class FeatureWeights:
    """Features (attribute, label), (label, label) and (attribute, label, label), and the weights that are learned
    of them. A part of `TokenEstimator`."""

    transition_attributes: Any = (
        None  # patterns of attributes that act on transitions, where a method has them
    )
    min_freq: float
    all_possible_states: bool
    all_possible_transitions: bool
    constraints: Any

    classes_: np.ndarray
    vocabulary_: dict[str, int]
    n_features_in_: int
    state_pairs_: np.ndarray
    state_weights_: np.ndarray
    transition_pairs_: np.ndarray
    transition_weights_: np.ndarray
    bigram_triples_: np.ndarray = np.empty((0, 3), dtype=np.int64)
    bigram_weights_: np.ndarray = np.empty(0)
    online_: dict[str, Any]  # where there is `partial_fit`: what it goes on from
    fitted_shapes: ClassVar[Declarations] = {
        "vocabulary_": Codes("features"),
        "state_pairs_": Indices("states* 2", below=("features", "classes")),
        "state_weights_": Floats("states*", finite=True),
        "transition_pairs_": Indices("transitions* 2", below=("classes", "classes")),
        "transition_weights_": Floats("transitions*", finite=True),
        "bigram_triples_": Indices("bigrams* 3", below=("features", "classes", "classes")),
        "bigram_weights_": Floats("bigrams*", finite=True),
    }

    @property
    def attributes_(self) -> list[str]:
        """The names of all attributes, in the order of their columns."""
        return sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)

    def _features_by_name(self, kind: str) -> dict[Any, float]:
        """The weights of a kind by name; one dict for all calls, until the weights change."""
        return self._cached(kind, (kind,), lambda _: dict(self._by_name(kind)))

    def _cached(self, what: str, kinds: Iterable[str], make: Callable[[np.ndarray], Any]) -> Any:
        """What `make` gives for the weights of some kinds, made once for as long as these stay as they are."""
        # Another fit may find the same weights for other pairs; it makes new arrays of them.
        places = [getattr(self, f"{kind}_{WEIGHTS[kind]}_") for kind in kinds]
        places += [self.classes_, self.vocabulary_, self.n_features_in_]
        w = np.concatenate([getattr(self, f"{kind}_weights_") for kind in kinds])
        kept = _made.setdefault(self, {}).get(what)
        if kept is None or not all(map(operator.is_, kept[0], places)) or not np.array_equal(kept[1], w):
            kept = _made[self][what] = places, w, make(w)
        return kept[2]

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """The weights of (attribute, label)."""
        return self._features_by_name("state")

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """The weights of (label from, label to)."""
        return self._features_by_name("transition")

    @property
    def bigram_features_(self) -> dict[tuple[str, Any, Any], float]:
        """The weights of (attribute, label from, label to)."""
        return self._features_by_name("bigram")

    def _known_attributes(self) -> AttributeColumns:
        """The columns of the attributes, -1 for any other name; made once for each vocabulary."""
        kept = _made.setdefault(self, {}).get("attributes")
        if kept is None or kept[0] is not self.vocabulary_ or len(kept[1]) != len(self.vocabulary_):
            names = AttributeColumns(self.vocabulary_)
            names.growing = False
            kept = _made[self]["attributes"] = self.vocabulary_, names
        return kept[1]

    def _by_name(self, kind: str, n: int | None = None) -> list[tuple[Any, float]]:
        """The names and weights of all features of a kind, or of the n largest (|n| smallest for a negative n)."""
        weights, pairs = getattr(self, f"{kind}_weights_"), getattr(self, f"{kind}_{WEIGHTS[kind]}_")
        if n is not None:
            order = np.argsort(-weights if n >= 0 else weights, kind="stable")[: abs(n)]
            weights, pairs = weights[order], pairs[order]
        labels = self.classes_.tolist()
        names = [labels if kind == "transition" else self.attributes_, *[labels] * (pairs.shape[1] - 1)]
        keys = zip(*(map(name.__getitem__, index) for name, index in zip(names, pairs.T.tolist())))
        return list(zip(keys, weights.tolist()))

    @property
    def num_attributes_(self) -> int:
        """The number of attributes."""
        return len(self.vocabulary_)

    @property
    def size_(self) -> int:
        """The size of all weights and their indices in bytes."""
        names = [f"{kind}_{what}_" for kind, places in WEIGHTS.items() for what in (places, "weights")]
        return sum(getattr(self, name).nbytes for name in names)

    def top_features(self, n: int = 20) -> list[tuple[float, Any, str]]:
        """The n largest weights of states, as (weight, label, attribute); the smallest for a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return [(w, label, name) for (name, label), w in self._by_name("state", n)]

    def top_transitions(self, n: int = 20) -> list[tuple[float, Any, Any]]:
        """The n largest weights of transitions, as (weight, from, to); the smallest for a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return [(w, *pair) for pair, w in self._by_name("transition", n)]

    def top_bigrams(self, n: int = 20) -> list[tuple[float, Any, Any, str]]:
        """The n largest weights of bigrams, as (weight, from, to, attribute); the smallest for a negative n.

        Parameters
        ----------
        n : int, default=20
            How many.
        """
        return [(w, *pair, name) for (name, *pair), w in self._by_name("bigram", n)]

    def prune(self, threshold: float = 0.0) -> Self:
        """Remove the weights whose absolute value is not above a threshold; attributes stay.

        Parameters
        ----------
        threshold : float, default=0.0
            The largest absolute value to remove.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        kept = {kind: np.abs(getattr(self, f"{kind}_weights_")) > threshold for kind in WEIGHTS}
        for kind, here in kept.items():
            if not here.all():
                for name in (f"{kind}_weights_", f"{kind}_{WEIGHTS[kind]}_"):
                    setattr(self, name, getattr(self, name)[here])
        if hasattr(self, "online_"):  # what `partial_fit` goes on from
            here = np.concatenate(list(kept.values()))
            self.online_ = {
                name: value[here] if isinstance(value, np.ndarray) else value
                for name, value in self.online_.items()
            }
        return self

    def _choose_features(self, X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> Features:
        features = choose_features(
            X, y, weight, self.classes_.size, min_freq=self.min_freq, all_states=self.all_possible_states,
            all_transitions=self.all_possible_transitions, transition_columns=self._transition_columns(),
        )  # fmt: skip
        if self.constraints is not None:  # an error comes before the work
            masks_of(self.constraints, self.classes_.tolist())
        if not features.size:
            raise ValueError(f"{type(self).__name__}: min_freq={self.min_freq} leaves no feature.")
        return features

    def _transition_columns(self) -> np.ndarray:
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

    def _named_weights(self, features: Features, w: np.ndarray) -> dict[str, Any]:
        """The fitted attributes that hold a vector of weights."""
        model = {}
        for kind, pairs, weights in zip(WEIGHTS, features.pairs(), features.split(w)):
            if kind != "bigram" or "transition_attributes" in vars(self):
                model[f"{kind}_{WEIGHTS[kind]}_"], model[f"{kind}_weights_"] = pairs, weights.copy()
        return model

    def _features(self) -> Features:
        """The features of the fitted weights."""
        n_attributes, N = self.n_features_in_, self.classes_.size
        for name, pairs, high in (
            ("state_pairs_", self.state_pairs_, (n_attributes, N)),
            ("transition_pairs_", self.transition_pairs_, (N, N)),
            ("bigram_triples_", self.bigram_triples_, (n_attributes, N, N)),
        ):
            if pairs.size and (pairs.min() < 0 or (pairs.max(axis=0) >= high).any()):
                raise ValueError(f"{type(self).__name__}: {name} must be indices below {high}.")
        return Features.of_pairs(
            self.state_pairs_, self.transition_pairs_, self.bigram_triples_, n_attributes, N
        )

    def _all_weights(self) -> np.ndarray:
        """The weights of states, transitions and bigrams in one vector."""
        return np.concatenate([getattr(self, f"{kind}_weights_") for kind in WEIGHTS])


__all__ = ["WEIGHTS", "FeatureWeights"]
