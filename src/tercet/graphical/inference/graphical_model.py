"""The questions that every graphical model answers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

import numpy as np

from tercet.graphical.factor import Factor, FactorModel, product
from tercet.graphical.inference.belief_propagation import belief_propagation
from tercet.graphical.inference.enumeration import enumeration
from tercet.graphical.inference.gibbs_inference import gibbs_inference
from tercet.graphical.inference.junction_tree import JunctionTree
from tercet.graphical.inference.likelihood_weighting import likelihood_weighting
from tercet.graphical.inference.variable_elimination import most_probable_explanation, variable_elimination

Method = Literal[
    "variable_elimination",
    "junction_tree",
    "enumeration",
    "belief_propagation",
    "likelihood_weighting",
    "gibbs",
    "mean_field",
]


class GraphicalModel:
    """A distribution of discrete variables that is a product of factors.

    A subclass has `factor_model()`, the integer-coded form of itself.
    """

    def factor_model(self) -> FactorModel:
        """The product of tables that inference works on."""
        raise NotImplementedError(f"{type(self).__name__} has no factor_model().")

    def _evidence(self, evidence: Mapping[Hashable, Any] | None) -> dict[Any, Any]:
        """Observed states by the names of the model."""
        return dict(evidence or {})

    def query(
        self,
        variables: Any,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        do: Mapping[Hashable, Any] | None = None,
        method: Method = "variable_elimination",
        **options: Any,
    ) -> Factor:
        """P(variables | evidence), the joint distribution of the variables asked for.

        Parameters
        ----------
        variables : name or list of names
            What is asked for.
        evidence : mapping of names to states, optional
            What was observed.
        do : mapping of names to states, optional
            Variables set from outside, whatever their parents say (in a Bayesian network).
        method : str, default="variable_elimination"
            "variable_elimination", "junction_tree", "enumeration" (exact), "belief_propagation" (exact on trees),
            "likelihood_weighting", "gibbs" or "mean_field" (approximate; the first two warn when their samples are
            not to be trusted). Of several variables, belief propagation and mean field give the product of their
            distributions.
        **options
            For the method, such as `order`, `damping`, `n_samples` or `random_state`.

        Returns
        -------
        Factor
            A table with an axis for each variable, in the order asked for.
        """
        model, given = self._observed(evidence, do)
        if method not in QUERIES:
            raise ValueError(f"method must be one of {', '.join(map(repr, QUERIES))}; got {method!r}.")
        return QUERIES[method](model, variables, given, **options)

    def marginals(
        self,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        do: Mapping[Hashable, Any] | None = None,
        method: Method = "junction_tree",
        **options: Any,
    ) -> dict[Any, np.ndarray]:
        """P(x | evidence) of every variable, by its name; parameters as for `query`."""
        model, given = self._observed(evidence, do)
        if method == "junction_tree":
            return JunctionTree(model, given, **options).marginals()
        if method == "belief_propagation":
            return belief_propagation(model, given, **options).marginals
        return {
            name: self.query([name], evidence, do=do, method=method, **options).table for name in model.names
        }

    def mpe(
        self,
        evidence: Mapping[Hashable, Any] | None = None,
        *,
        do: Mapping[Hashable, Any] | None = None,
        method: Literal["variable_elimination", "belief_propagation"] = "variable_elimination",
        **options: Any,
    ) -> dict:
        """The most probable assignment of all variables that agrees with the evidence."""
        model, given = self._observed(evidence, do)
        if method == "belief_propagation":
            return belief_propagation(model, given, algorithm="max", **options).mode
        if method != "variable_elimination":
            raise ValueError(
                f"method must be 'variable_elimination' or 'belief_propagation'; got {method!r}."
            )
        return most_probable_explanation(model, given, **options)

    def junction_tree(
        self, evidence: Mapping[Hashable, Any] | None = None, *, do: Mapping[Hashable, Any] | None = None
    ) -> JunctionTree:
        """A junction tree, calibrated for the evidence, to ask many queries of."""
        return JunctionTree(*self._observed(evidence, do))

    def _observed(
        self, evidence: Mapping[Hashable, Any] | None, do: Mapping[Hashable, Any] | None
    ) -> tuple[FactorModel, dict]:
        """The model after interventions, and the evidence with them."""
        model = self.factor_model()
        given, actions = self._evidence(evidence), self._evidence(do)
        both = [name for name in actions if name in given]
        if both:
            raise ValueError(f"{both[0]!r} is both observed and set by do=.")
        return model.intervened(model.codes(actions)), {**given, **actions}


def _by_tree(model: FactorModel, variables: Any, evidence: Any, **options: Any) -> Factor:
    return JunctionTree(model, evidence, **options).query(variables)


def _by_messages(model: FactorModel, variables: Any, evidence: Any, **options: Any) -> Factor:
    return _independent(model, variables, belief_propagation(model, evidence, **options).marginals)


def _by_mean_field(model: FactorModel, variables: Any, evidence: Any, **options: Any) -> Factor:
    from tercet.graphical.mean_field import mean_field

    names, factors = model.names, _merged(model)
    given: dict[Any, Any] = {names[k]: code for k, code in model.codes(evidence).items()}
    order = [names[k] for k in sorted({k for scope in factors for k in scope}) if names[k] not in given]
    tables = {tuple(names[k] for k in scope): table for scope, table in factors.items()}
    return _independent(model, variables, mean_field(tables, given, **{"order": order, **options}).q)


def _merged(model: FactorModel) -> dict[tuple[int, ...], np.ndarray]:
    """Factors of the same variables as one."""
    found: dict[tuple[int, ...], np.ndarray] = {}
    for scope, table in model.factors:
        key = tuple(sorted(scope))
        own = product([(scope, table)], key)
        found[key] = found[key] * own if key in found else own
    return found


def _independent(model: FactorModel, variables: Any, marginals: Mapping[Any, np.ndarray]) -> Factor:
    places = model.places(variables)
    return model.answer(places, product([((k,), marginals[model.names[k]]) for k in places], places))


QUERIES: dict[str, Callable[..., Factor]] = {
    "variable_elimination": variable_elimination,
    "junction_tree": _by_tree,
    "enumeration": enumeration,
    "belief_propagation": _by_messages,
    "likelihood_weighting": likelihood_weighting,
    "gibbs": gibbs_inference,
    "mean_field": _by_mean_field,
}
