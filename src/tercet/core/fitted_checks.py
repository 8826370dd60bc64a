"""Checks of fitted attributes after loading: the shapes, types and ranges that kernels rely on.

Kernels check no bounds, so a model whose attributes do not fit together (of a forged or damaged file) must not
reach them. A page declares beside its fitted attributes what its kernels rely on:

    fitted_shapes = {
        "weights_": "components",
        "means_": "components features",
        "pairs_": Indices("pairs* 2", below=("features", "classes")),
        "probs_": Each("components values@", "features"),
    }

A word is a size (see `core.symbolic_shapes`). A function of the model may stand in place of a declaration, and give
one. What cannot be said like this, `_check_fitted` of a class checks.

`check_fitted` is called once, when the state of an estimator is restored (`Estimator.__setstate__`); attributes
that are not there are not looked at.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tercet.core.spelling_suggestions import spelling_suggestions
from tercet.core.symbolic_shapes import Mismatch, Sizes, in_words, is_optional, size_of, unify
from tercet.core.validation import check_structure


@dataclass(frozen=True)
class Floats:
    """An array of numbers; `finite` refuses NaN and infinity, `low` smaller numbers (and NaN)."""

    shape: str
    finite: bool = False
    low: float | None = None

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not _has_shape(value, self.shape, sizes, item, "fiu"):
            return
        values = value.data if sparse.issparse(value) else np.asarray(value)
        if self.finite:
            with np.errstate(over="ignore", invalid="ignore"):
                total = values.sum()  # in one pass; a sum that overflows proves nothing
            if not np.isfinite(total) and not np.isfinite(values).all():
                raise Mismatch("finite numbers")
        if self.low is not None and values.size and not values.min() >= self.low:
            raise Mismatch(f"numbers of at least {self.low:g}")


@dataclass(frozen=True)
class Indices:
    """An array of whole numbers from `low` to `below` less 1: a size, or one for each column."""

    shape: str
    below: str | tuple[str, ...]
    low: int = 0

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not _has_shape(value, self.shape, sizes, item, "iu"):
            return
        values = np.asarray(value)
        names = self.below if isinstance(self.below, tuple) else (self.below,)
        columns = values.reshape(-1, values.shape[-1]).T if isinstance(self.below, tuple) else [values]
        for column, name in zip(columns, names):
            end = size_of(name, sizes, item)
            if end is None:
                raise Mismatch(f"numbers below {name}, which is not known")
            if column.size and not (self.low <= column.min() and column.max() < end):
                raise Mismatch(f"whole numbers from {self.low} to {end - 1}, below {name}")


@dataclass(frozen=True)
class Labels:
    """An array or a list of numbers, strings or objects, of which only the shape counts; `finite` refuses NaN."""

    shape: str
    finite: bool = False

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        value = np.zeros(len(value)) if isinstance(value, list | tuple) else value
        if not _has_shape(value, self.shape, sizes, item, "biufUOSmM") or not self.finite:
            return
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Mismatch("finite labels")


@dataclass(frozen=True)
class Each:
    """A list or tuple of so many items, all of one kind."""

    of: Any
    length: str

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not isinstance(value, list | tuple):
            raise Mismatch("a list")
        unify((len(value),), self.length, sizes, item, "a list")
        for j, part in enumerate(value):
            try:
                _check(part, self.of, sizes, f"@{j}")
            except Mismatch as wrong:
                raise Mismatch(f"in item {j} {wrong}") from None


@dataclass(frozen=True)
class Items:
    """A list or tuple with a declaration for each item."""

    of: tuple[Any, ...]

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(self.of):
            raise Mismatch(f"a list of {len(self.of)}")
        for j, (part, spec) in enumerate(zip(value, self.of)):
            try:
                _check(part, spec, sizes, item)
            except Mismatch as wrong:
                raise Mismatch(f"in item {j} {wrong}") from None


@dataclass(frozen=True)
class Whole:
    """A whole number of at least `low`; `name` makes it the size of that name."""

    name: str = ""
    low: int = 0

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if not whole or int(value) < self.low:
            raise Mismatch(f"a whole number of at least {self.low}")
        if self.name:
            unify((int(value),), self.name, sizes, item, "the size of an array")


@dataclass(frozen=True)
class Counts:
    """A tuple of whole numbers, which is the shape of something."""

    shape: str

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        whole = isinstance(value, tuple | list) and all(isinstance(n, numbers.Integral) for n in value)
        if not whole:
            raise Mismatch(f"the shape of an array{in_words(self.shape, sizes, item)}")
        unify(tuple(value), self.shape, sizes, item, "the shape of an array")


@dataclass(frozen=True)
class Codes:
    """A dict from names to whole numbers from 0 to `below` less 1."""

    below: str

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not isinstance(value, dict):
            raise Mismatch("a dict")
        end = size_of(self.below, sizes, item) or 0
        try:
            codes = np.array(list(value.values()) or [0])
        except ValueError:  # lists of several lengths, say
            codes = np.array([""])
        if codes.ndim != 1 or codes.dtype.kind != "i" or not (codes.min() >= 0 and codes.max() < end):
            raise Mismatch(f"a dict of whole numbers from 0 to {end - 1}, below {self.below}")


@dataclass(frozen=True)
class Keys:
    """A dict with a declaration for each key that it must have."""

    of: Mapping[str, Any]

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not isinstance(value, dict):
            raise Mismatch("a dict")
        for key, spec in self.of.items():
            if key not in value:
                raise Mismatch(f"a dict with {key!r}")
            try:
                _check(value[key], spec, sizes, item)
            except Mismatch as wrong:
                raise Mismatch(f"in {key!r} {wrong}") from None


@dataclass(frozen=True)
class Having:
    """An object with attributes of the given sizes (numbers, or the lengths of arrays) and the given methods.

    What else it has to fulfil it checks by itself, when its own state is restored.
    """

    sizes: Mapping[str, str]
    methods: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        for name in self.methods:
            if not callable(getattr(value, name, None)):
                raise Mismatch(f"an object with {name}")
        for name, size in self.sizes.items():
            part: Any = getattr(value, name, None)
            count = int(part) if isinstance(part, numbers.Integral) else len(part) if np.ndim(part) else -1
            try:
                unify((count,), size, sizes, item, "the size of an array")
            except Mismatch as wrong:
                raise Mismatch(f"an object whose {name} is {wrong}") from None


@dataclass(frozen=True)
class OneOf:
    """One of some values, such as a name that chooses code."""

    values: tuple[Any, ...]

    def check(self, value: Any, sizes: Sizes, item: str) -> None:
        if not any(type(value) is type(known) and value == known for known in self.values):
            raise Mismatch(f"one of {', '.join(map(repr, self.values))}")


Declaration = str | Floats | Indices | Labels | Each | Items | Whole | Counts | Codes | Keys | Having | OneOf
Declarations = Mapping[str, Declaration | Callable[[Any], Declaration | None] | None]


def by_value(name: str, choices: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A declaration that depends on a parameter, or on another attribute."""

    def chosen(model: Any) -> Any:
        value = getattr(model, name, None)
        if not isinstance(value, str) or value not in choices:
            known = ", ".join(map(repr, choices))
            raise ValueError(f"{type(model).__name__}: {name} is {value!r}; expected is one of {known}.")
        return choices[value]

    return chosen


def classes_of_outputs(model: Any) -> Any:
    """The declaration of `classes_` where there may be several outputs: then it is a list."""
    several = isinstance(model.classes_, list)
    return Each(Labels("classes@"), "outputs") if several else Labels("classes")


class MissingAttributeError(AttributeError):
    """An attribute that a fitted estimator does not have, with names that are spelled like it.

    The names are looked up when the message is read: attributes are often asked for (`feature_names_in_` by every
    prediction) where nobody is told that they are not there.
    """

    def __str__(self) -> str:
        owner, name = self.args
        known = {*vars(owner), *dir(type(owner))}
        fitted = sorted(one for one in known if one.endswith("_") and not one.startswith("_"))
        near = spelling_suggestions(name, fitted, 2)
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"It has {', '.join(fitted)}."
        return f"{type(owner).__name__!r} object has no attribute {name!r}. {hint}"

    def __reduce__(self) -> Any:  # to other processes without the estimator
        return AttributeError, (str(self),)


class FittedAttributes:
    """Attributes that `fit` makes: who asks for one that is not there is told why."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            is_declared = name in declared(kind)
            if not (is_declared or (name.endswith("_") and not name.startswith("_"))) or hasattr(kind, name):
                return object.__getattribute__(self, name)  # which says what is wrong
            state = vars(self)
            is_fitted = "n_features_in_" in state or any(
                known.endswith("_") and not known.startswith("_") for known in state
            )
            if is_fitted and not is_declared:
                # an owner of None keeps Python from adding a suggestion of its own to tracebacks
                raise MissingAttributeError(self, name, name=name, obj=None)
            hint = (
                "It is not learned with these parameters, or the model was loaded from a file that lacks it."
                if is_fitted
                else f"This {kind.__name__} is not fitted yet; call 'fit' first."
            )
            raise NotFittedError(f"{kind.__name__!r} object has no attribute {name!r}. {hint}")


def check_fitted(model: Any) -> None:
    """Refuse a model whose fitted attributes do not fit what its class declares.

    Raises
    ------
    ValueError
        With the class, the attribute, what was found and what is expected.
    """
    kind: Any = type(model)
    state, specs = vars(model), declared(kind)
    if not any(name in state for name in specs):  # not fitted
        return
    sizes: Sizes = {}
    try:
        for name, spec in specs.items():
            if name in state:
                check_attribute(model, name, spec(model) if callable(spec) else spec, sizes)
        if hasattr(model, "_check_fitted"):
            model._check_fitted(sizes)
    except (AttributeError, KeyError) as error:
        raise ValueError(f"{type(model).__name__}: a part of the model is missing: {error}.") from None


def check_attribute(model: Any, name: str, spec: Declaration | None, sizes: Sizes) -> None:
    """Refuse one attribute of a model if it does not fit a declaration."""
    if spec is None:
        return
    value = getattr(model, name)
    try:
        _check(value, spec, sizes, "")
    except Mismatch as wrong:
        raise ValueError(
            f"{type(model).__name__}: {name} is {_described(value)}; expected is {wrong}."
        ) from None


@functools.cache
def declared(kind: type) -> dict[str, Any]:
    """What a class and its bases declare; a class may declare otherwise than its bases, or None for nothing."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found.update(base.__dict__.get("fitted_shapes", {}))
    return {name: spec for name, spec in found.items() if spec is not None}


def _check(value: Any, spec: Any, sizes: Sizes, item: str) -> None:
    (Floats(spec) if isinstance(spec, str) else spec).check(value, sizes, item)


def _has_shape(value: Any, shape: str, sizes: Sizes, item: str, kinds: str) -> bool:
    """Whether there are numbers to look at, in an array of one of the shapes; False for an allowed None."""
    if value is None and is_optional(shape):
        return False
    if sparse.issparse(value):
        try:
            check_structure(value)
        except ValueError as error:
            raise Mismatch(f"a matrix whose indices lie in it ({error})") from None
    elif not isinstance(value, np.ndarray | np.generic | float | int) or isinstance(value, bool):
        raise Mismatch(f"an array{in_words(shape, sizes, item)}")
    found, dtype = np.shape(value), value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    if dtype.kind not in kinds or (dtype.kind in "fiu" and (dtype.itemsize > 8 or dtype == np.float16)):
        raise Mismatch(f"{'whole ' if kinds == 'iu' else ''}numbers{in_words(shape, sizes, item)}")
    unify(found, shape, sizes, item)
    return True


def _described(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, np.ndarray) and value.ndim:
        span = f" from {value.min()} to {value.max()}" if value.size and value.dtype.kind in "fiu" else ""
        return f"an array of shape {value.shape} of {value.dtype}{span}"
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__} of {len(value)}"
    plain = value is None or isinstance(value, numbers.Number | str)
    return repr(value)[:80] if plain else f"a {type(value).__name__}"
