"""The base of hidden Markov models (隐马尔可夫模型): hidden states, and observations that depend on them.

A family of observations (symbols, Gaussians, counts) derives from `HMM` and writes the methods that `hmm_family`
names; learning is here, and what a model can tell in `hmm_answers`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.core.parallel import total
from tercet.core.steps import Steps
from tercet.optimize import EMResult, em
from tercet.sequence.hmm.e_step import Passes, Theta
from tercet.sequence.hmm.inference import Answers
from tercet.sequence.hmm.markov_chain import topology
from tercet.sequence.hmm.states import check_prior, distributions, refuse_forbidden, spread, state_codes
from tercet.sequence.text.sequences import Sequences

__all__ = ["HMM", "check_prior", "distributions"]


class HMM(Answers):
    """A hidden Markov model λ = (A, B, π): P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t)."""

    def _fit(self, X: Sequences, y: Sequences | None, sample_weight: np.ndarray | None) -> None:
        labels, numbers = None if y is None else y.rows, None
        if sample_weight is not None and not sample_weight.all():
            here = sample_weight > 0
            numbers = np.flatnonzero(here)
            labels = None if labels is None else labels[np.repeat(here, X.lengths)]
            X, sample_weight = X[here], sample_weight[here]
        self._check_letters()
        n, states = self._name_states(labels)
        data = Passes(self, X, states, sample_weight, numbers)
        if states is not None and self.closed_form and (states >= 0).all():
            self.__dict__.update(self._first(data, n, None), converged_=True)
            return
        rng, best = generator(self.random_state), None
        for loop in self._starts():
            theta = self._first(data, n, rng)
            climb = em(
                data, X.chunks(self._rows_per_chunk(theta)), theta, loop, tol=self.tol, n_jobs=self.n_jobs
            )
            if best is None or climb.value > best.value:
                best = climb
        assert isinstance(best, EMResult)
        self.__dict__.update(best.theta, converged_=best.converged, n_iter_=best.passes)

    def _starts(self) -> Iterable[Steps]:
        """The loops of passes: one, or one inside each of several starts."""
        hint, watch = "Raise n_iter or tol.", _say if self.verbose else None
        if self.n_init == 1 or not self.init_params:
            yield self.steps(self.n_iter, hint=hint, watch=watch)
            return
        for start in self.steps(self.n_init, name="start", inner=self.n_iter):
            yield start.steps(self.n_iter, hint=hint, watch=watch)

    def _first(self, data: Passes, n: int, rng: np.random.Generator | None) -> Theta:
        """Where EM begins: what the caller has set, and draws for the rest. Known states are counted."""
        fresh = {
            name
            for letter, names in {"s": ("startprob_",), "t": ("transmat_",), **self.emitted}.items()
            for name in names
            if letter in self.init_params or name not in vars(self)
        }
        theta: Theta = {}
        allowed = topology(self.topology, n)
        if "startprob_" in fresh:
            ahead = isinstance(self.topology, str) and self.topology in ("left-right", "bakis")
            if ahead and data.states is None:
                theta["startprob_"] = np.eye(n)[0]
            else:
                theta["startprob_"] = spread(np.ones(n), rng if data.states is None else None)
        if "transmat_" in fresh:
            theta["transmat_"] = spread(allowed.astype(float), rng if data.states is None else None)
        wanted = fresh - {"startprob_", "transmat_"}
        if wanted:
            theta.update(self._initial_emissions(data.X, n, rng, wanted))
        begun = copy.copy(self)  # a fit that fails leaves the model as it was
        begun.__dict__.update(theta)
        theta = begun._theta(n)
        stray = np.argwhere((theta["transmat_"] > 0) & ~allowed)
        if stray.size:
            i, j = stray[0]
            raise ValueError(
                f"{type(self).__name__}: transmat_[{i}, {j}] is {theta['transmat_'][i, j]:g}, but "
                f"topology={self.topology!r} does not allow this transition."
            )
        return theta if data.states is None else self._counted(data, theta, fresh)

    def _counted(self, data: Passes, theta: Theta, fresh: set[str]) -> Theta:
        """The model that known states suggest (10.30, 10.31)."""
        states = data.states
        assert states is not None
        refuse_forbidden(type(self).__name__, states, data.X.borders, theta["transmat_"] > 0, self.classes_)
        chunks = data.X.chunks(self._rows_per_chunk(theta))
        known = (states >= 0).mean()
        # Where EM goes on from here, other rows have a say too, a tenth of it all: what has not been seen with a
        # label may still come.
        rest = 0.0 if known == 1 else min(1.0, 0.1 * known / (1 - known))
        counted = data.maximise(total(data.count, chunks, theta, rest, n_jobs=self.n_jobs), theta)
        if known == 1:
            return counted
        # States without a label must not all be alike.
        here = np.isin(np.arange(theta["startprob_"].size), states)
        for name in fresh:
            drawn = theta[name]
            if name in ("startprob_", "transmat_"):
                theta[name] = 0.9 * counted[name] + 0.1 * drawn
            elif len(drawn) == here.size:
                theta[name] = np.where(here.reshape(-1, *[1] * (drawn.ndim - 1)), counted[name], drawn)
            else:
                theta[name] = counted[name]
        return theta

    def _name_states(self, labels: Any) -> tuple[int, np.ndarray | None]:
        """The number of states, and the known states as numbers; `classes_` gets their names."""
        count = self.n_components
        if count is None and labels is None and "s" not in self.init_params and "startprob_" in vars(self):
            count = len(self.startprob_)
        if labels is None:
            self.classes_ = np.arange(1 if count is None else count)
            return self.classes_.size, None
        self.classes_, states = state_codes(labels, count, type(self).__name__)
        return self.classes_.size, states if (states >= 0).any() else None

    def _check_letters(self) -> None:
        letters = {"s", "t", *self.emitted}
        for name in ("params", "init_params"):
            strange = [letter for letter in getattr(self, name) if letter not in letters]
            if strange:
                raise ValueError(
                    f"{type(self).__name__}: parameter {name!r} must be made of the letters "
                    f"{''.join(sorted(letters))!r}; got {getattr(self, name)!r}."
                )


def _say(step: Steps) -> None:
    print(f"pass {step.count}: log-likelihood {step.measures['log_likelihood']:.6f}")
