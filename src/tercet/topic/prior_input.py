"""Priors of latent Dirichlet allocation as callers give them: numbers, arrays and seed words."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tercet.core.input_errors import shown

LEAST = 1e-300  # smaller parameters of a Dirichlet distribution have no digamma in floating-point numbers
MOST = 1e150


def checked_prior(name: str, value: Any, default: float, shapes: Sequence[tuple[int, ...]]) -> Any:
    """A prior as a float or an array of one of the shapes, or an error that says what is wrong with it.

    Examples
    --------
    >>> checked_prior("doc_topic_prior", [1, 2], 0.5, [(2,)])
    array([1., 2.])
    >>> checked_prior("doc_topic_prior", None, 0.5, [(2,)])
    0.5
    """
    if value is None:
        return default
    allowed = f"None, a number above 0 or an array of shape {' or '.join(map(str, shapes))} of such"
    try:
        prior = None if isinstance(value, str | bool) else np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        prior = None
    if prior is None or prior.shape not in [(), *shapes]:
        found = "" if prior is None else f", of shape {prior.shape}"
        raise ValueError(
            f"LatentDirichletAllocation: parameter {name!r} must be {allowed}; got {shown(value)}{found}."
        )
    good = (prior >= LEAST) & (prior <= MOST)
    if not good.all():
        raise ValueError(
            f"LatentDirichletAllocation: parameter {name!r} must be {allowed}; got {prior[~good].flat[0]:g}."
        )
    return prior if prior.ndim else float(prior)


def prior_table(eta: Any, n_topics: int) -> np.ndarray:
    """η with a row for each word, or one for all, and a column for each topic.

    Examples
    --------
    >>> prior_table(0.5, 2)
    array([[0.5, 0.5]])
    >>> prior_table(np.array([1.0, 2.0, 3.0]), 2).shape
    (3, 2)
    """
    if np.ndim(eta) == 2:
        return np.ascontiguousarray(np.transpose(eta), dtype=np.float64)
    return np.repeat(np.reshape(np.asarray(eta, dtype=np.float64), (-1, 1)), n_topics, axis=1)


def seeded(seed_words: Mapping[Any, Any], n_topics: int, words: np.ndarray) -> np.ndarray:
    """1 for each topic and seed word of it, else 0.

    Examples
    --------
    >>> seeded({1: ["b"], 0: [2]}, 2, np.array(["a", "b", "c"], dtype=object))
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """
    table, columns = np.zeros((n_topics, words.size)), {word: j for j, word in enumerate(words.tolist())}
    for topic, seeds in seed_words.items():
        if not isinstance(topic, numbers.Integral) or not 0 <= int(topic) < n_topics:
            raise ValueError(
                f"seed_words must have topics from 0 to {n_topics - 1} as keys; got {shown(topic)}."
            )
        if isinstance(seeds, str) or not hasattr(seeds, "__iter__"):
            raise ValueError(f"seed_words must have lists of words as values; got {shown(seeds)}.")
        for seed in seeds:
            column = columns.get(seed) if isinstance(seed, str) else seed
            if not isinstance(column, numbers.Integral) or not 0 <= int(column) < words.size:
                raise ValueError(
                    f"seed_words holds {shown(seed)}, which is neither a word of the documents nor a column from 0 "
                    f"to {words.size - 1}."
                )
            table[int(topic), int(column)] = 1.0
    return table


def positive(name: str, value: Any, ndim: int | None) -> np.ndarray:
    """An array of numbers above 0."""
    array = np.asarray(value, dtype=np.float64)
    if (
        (ndim is not None and array.ndim != ndim)
        or not array.size
        or not ((array > 0) & (array < np.inf)).all()
    ):
        kind = {None: "", 1: "a list of ", 2: "rows of "}[ndim]
        raise ValueError(f"{name} must be {kind}finite numbers above 0; got {value!r}.")
    return array


def random_numbers(random_state: Any) -> np.random.RandomState:
    """The numbers of scikit-learn's class for the same seed; a Generator gives those of its own stream."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return check_random_state(random_state)
