"""Which kernels a fit and a prediction need: ``python -m tests.kernel_runs`` (``make kernel-runs``).

Every estimator is fitted at its defaults to each kind of data, as `tercet warm` does, and asked for its first
answer. What such a run loads goes into `core/kernel_runs.json`, where compiling it at once is worth it.
"""

from __future__ import annotations

import functools
import multiprocessing
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any

from tercet.cli.warm import ANSWERS, cards, more_input, samples
from tercet.core.catalog import Card
from tercet.core.compile_ahead import saved_seconds
from tercet.core.kernel_runs import KernelForm, class_path, described, write_table
from tests.kernel_objects import forget, observed

Run = list[KernelForm]


def runs(card: Card) -> Iterator[Run]:
    """The kernels of the fits and predictions of an estimator that it does not refuse, each run once."""
    try:
        model = card.load()()
    except TypeError:  # a list of estimators has no default
        return
    found: list[Run] = []
    # Rows enough come first: with few a tree has no split, say.
    for data, target in chain(samples(card, 150, noise=1.0), samples(card, 150), samples(card)):
        # Twice: where a kernel is compiled, the compiler asks for the parts of it that are kernels, too.
        if not succeeds(card, model, data, target):
            continue
        forget()
        with observed() as seen:
            succeeds(card, model, data, target)
        run = sorted(forms(seen), key=lambda form: form.key)
        if run not in found:
            found.append(run)
            yield run


def succeeds(card: Card, model: Any, data: Any, target: Any) -> bool:
    """Whether an estimator takes the data; it is fitted, and asked for its first answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(data, target, **more_input(card, target))
            answer = next((name for name in ANSWERS if hasattr(model, name)), None)
            if answer is not None:
                getattr(model, answer)(data)
        except (TypeError, ValueError):
            return False
    return True


def forms(seen) -> Iterator[KernelForm]:
    """Kernels that were loaded, but those with arguments of unusual types."""
    for one in seen:
        try:
            kinds = tuple(map(described, one.types))
            yield KernelForm(one.kernel, kinds, one.size)
        except TypeError:
            continue


def with_import(form: KernelForm) -> KernelForm:
    """A form that knows how long its module takes to import."""
    return replace(form, slow_import=imports_sklearn(form.module))


@functools.cache
def imports_sklearn(module: str) -> bool:
    """Whether a module brings scikit-learn."""
    code = f"import sys, {module}; sys.exit('sklearn' in sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 1


def worthy_runs(name: str) -> tuple[str, list[Run]]:
    """The path of an estimator, and those of its runs that helpers make shorter."""
    card = next(card for card in cards() if card.name == name)
    complete = ([with_import(form) for form in run] for run in runs(card))
    return class_path(card.load()), [run for run in complete if saved_seconds(run)]


def main() -> None:
    names = [card.name for card in cards()]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        found = {name: some for name, some in pool.map(worthy_runs, names) if some}
    write_table(found)
    print(f"{len(found)} estimators with {sum(map(len, found.values()))} runs")


if __name__ == "__main__":
    main()
