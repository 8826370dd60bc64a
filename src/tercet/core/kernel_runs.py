"""Which kernels the estimators need, for compiling them at once (`core.compile_ahead`).

`kernel_runs.json` has kernels, each for one choice of argument types, with the size of its machine code in bytes,
which tells about how long it takes to compile; for each estimator its runs: the kernels of a fit and a prediction
at its defaults, for each kind of data; and the modules that import scikit-learn, which takes as long as compiling.
`make kernel-runs` writes it (`tests.kernel_runs`). A run that is out of date does no harm: a kernel is compiled for
nothing, or by the process that needs it.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core import types

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class KernelForm:
    """A kernel for one choice of argument types, which are as `described`."""

    name: str
    types: tuple[Any, ...]
    size: int
    slow_import: bool = False  # of its module

    @property
    def key(self) -> str:
        """Kernel and types as one text."""
        return form_key(self.name, self.types)

    @property
    def module(self) -> str:
        """The module of the kernel."""
        return self.name.rpartition(".")[0]

    def dispatcher(self) -> Any:
        """The kernel itself."""
        return getattr(importlib.import_module(self.module), self.name.rpartition(".")[2])

    def signature(self) -> tuple[Any, ...]:
        """The argument types as numba has them."""
        return tuple(map(restored, self.types))


@dataclass(frozen=True)
class RunTable:
    """What the file holds; runs by the path of the class, the usual kinds of data first."""

    forms: dict[str, KernelForm]  # by key
    runs: dict[str, list[list[KernelForm]]]

    def find(self, function: Any, signature: Iterable[Any]) -> KernelForm | None:
        """A kernel for some argument types; None where the table does not have it."""
        try:
            return self.forms.get(form_key(class_path(function), map(described, signature)))
        except TypeError:
            return None

    def likely_run(self, kinds: tuple[type, ...], forms: list[KernelForm]) -> list[KernelForm]:
        """The first run of some classes that has all of some kernels; empty where there is no such run."""
        runs = (run for kind in kinds for run in self.runs.get(class_path(kind), []))
        return next((run for run in runs if all(form in run for form in forms)), [])


def class_path(named: Any) -> str:
    """Module and name of a class or function."""
    return f"{named.__module__}.{named.__qualname__}"


def form_key(name: str, descriptions: Iterable[Any]) -> str:
    """Kernel and types as one text."""
    return json.dumps([name, *descriptions])


def described(kind: Any) -> Any:
    """An argument type in a form for JSON: `"float64"`, `"float64 2C"` for an array, a list for a tuple.

    Raises
    ------
    TypeError
        When it is none of the types that kernels usually get.
    """
    if type(kind) in (types.Integer, types.Float, types.Boolean, types.NoneType):
        return kind.name
    if isinstance(kind, types.Array) and kind.aligned:
        item = described(kind.dtype)
        return f"{item} {kind.ndim}{kind.layout}{'' if kind.mutable else ' readonly'}"
    if isinstance(kind, types.BaseTuple):
        members: Any = kind
        own = getattr(kind, "instance_class", None)
        return ["" if own is None else class_path(own), *(described(member) for member in members)]
    raise TypeError(f"arguments of type {kind} have no description")


def restored(description: Any) -> Any:
    """The type that was `described`."""
    if isinstance(description, str):
        return _restored_text(description)
    name, *members = description
    module, _, class_name = name.rpartition(".")
    own = getattr(importlib.import_module(module), class_name) if name else None
    return types.BaseTuple.from_types(tuple(map(restored, members)), own)


@functools.cache
def _restored_text(text: str) -> Any:
    item, *array = text.split(" ")
    found = {"bool": types.boolean, "none": types.none}.get(item) or getattr(types, item)
    if not array:
        return found
    layout: Any = array[0][-1]
    return types.Array(found, int(array[0][:-1]), layout, readonly=len(array) > 1)


@functools.cache
def table() -> RunTable:
    """The table of the file; an empty one where it cannot be read."""
    try:
        content = json.loads(FILE.read_text(encoding="utf-8"))
        slow = set(content["slow_imports"])
        forms = [
            KernelForm(name, tuple(kinds), size, name.rpartition(".")[0] in slow)
            for name, kinds, size in content["kernels"]
        ]
        runs = {name: [[forms[k] for k in run] for run in some] for name, some in content["runs"].items()}
    except (OSError, ValueError, TypeError, LookupError):
        return RunTable({}, {})
    return RunTable({form.key: form for form in forms}, runs)


def write_table(runs: dict[str, list[list[KernelForm]]]) -> None:
    """Write the file, a line for each kernel and each estimator."""
    every = {form.key: form for some in runs.values() for run in some for form in run}
    keys = sorted(every)
    place = {key: k for k, key in enumerate(keys)}
    kernels = [json.dumps([every[key].name, every[key].types, every[key].size]) for key in keys]
    classes = [
        f"{json.dumps(name)}: {json.dumps([[place[form.key] for form in run] for run in some])}"
        for name, some in sorted(runs.items())
    ]
    slow = sorted({form.module for form in every.values() if form.slow_import})
    lines = [
        '{"kernels": [',
        ",\n".join(kernels),
        '], "runs": {',
        ",\n".join(classes),
        f'}}, "slow_imports": {json.dumps(slow, indent=0)}}}\n',
    ]
    FILE.write_text("\n".join(lines), encoding="utf-8")
