"""List everything that a new method still lacks: `python -m tests.newcomer NAME ...`.

First comes a checklist of what belongs to a method (`REQUIREMENTS`), with the way to add what is missing. Then the
tests that exist once per method run for the named ones, and so do the rules that hold for the library: one list
of failures instead of a surprise in each of ten test files. `--list` prints the checklist without running tests.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tercet
from tercet.core.catalog import Card, collect
from tercet.core.lazy import own_names

ROOT = Path(__file__).resolve().parent.parent
# Files with one test for each card; of these only the tests of the named cards run.
PER_CARD = (
    "tests/cli/test_catalogue.py",
    "tests/cli/test_translation.py",
    "tests/conformance",
    "tests/core",
    "tests/golden/test_golden.py",
    "tests/peers",
    "tests/plot/test_models.py",
    "tests/streaming/test_same_bits.py",
)
# Rules over all cards or files at once.
WHOLE = (
    "tests/cli/test_catalogue.py::test_no_estimator_leaves_a_parameter_unexplained",
    "tests/cli/test_catalogue.py::test_every_name_finds_its_card",
    "tests/cli/test_catalogue.py::test_estimators_of_scikit_learn_name_it_as_peer",
    "tests/cli/test_maintenance.py::test_every_estimator_is_warmed",
    "tests/cli/test_translation.py::test_every_template_has_its_chinese",
    "tests/cli/test_translation.py::test_translations_are_chinese",
    "tests/cli/test_translation.py::test_translations_do_not_contradict_each_other",
    "tests/cli/test_translation.py::test_every_example_has_its_chinese",
    "tests/core/test_catalog.py",
    "tests/docs/test_completeness.py",
    "tests/golden/test_golden.py::test_this_version_has_its_files",
    "tests/peers/test_public_names.py",
    "tests/structure",
)

Check = Callable[[Card], bool]
REQUIREMENTS: list[tuple[str, Check, str]] = []  # what a method has, the check, and how to add it


def required(
    what: str, how: str, only: Callable[[Card], Any] = lambda card: True
) -> Callable[[Check], Check]:
    """Add a check to the list, for the cards that `only` accepts."""

    def decorate(check: Check) -> Check:
        REQUIREMENTS.append((what, lambda card: not only(card) or check(card), how))
        return check

    return decorate


def is_estimator(card: Card) -> bool:
    return card.kind == "estimator"


@functools.cache
def read(*patterns: str) -> str:
    """The text of all files that match."""
    files = sorted(file for pattern in patterns for file in ROOT.glob(pattern))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def mentioned(card: Card, *patterns: str) -> bool:
    return re.search(rf"\b{card.name}\b", read(*patterns)) is not None


@required("public name", "import it in src/tercet/{family}/__init__.pyi and run `make names`")
def is_exported(card: Card) -> bool:
    return card.name in own_names(card.module)


@required("card: model", "say model= in @method")
def has_model(card: Card) -> bool:
    return bool(card.model)


@required("card: place in the texts, or a peer", "say texts= or peers= in @method")
def has_source(card: Card) -> bool:
    return bool(card.texts or card.peers)


@required("card in catalog.json", "make catalog")
def is_in_catalogue(card: Card) -> bool:
    return card in tercet.methods()


@required("Chinese words of the card", "src/tercet/cli/zh/cards.json")
def has_chinese_words(card: Card) -> bool:
    from tests.cli.test_translation import card_lines_without_chinese

    return not card_lines_without_chinese(card)


@required("Chinese words of the docstring", "src/tercet/cli/zh/parameters.json", is_estimator)
def has_chinese_parameters(card: Card) -> bool:
    from tests.cli.test_translation import docstring_lines_without_chinese

    return not docstring_lines_without_chinese(card)


@required("example in the docstring", "write an Examples section")
def has_docstring_example(card: Card) -> bool:
    return ">>>" in (inspect.getdoc(card.load()) or "")


@required("guide", "mention it in docs/guide/{family}.md", is_estimator)
def is_in_guide(card: Card) -> bool:
    return mentioned(card, "docs/guide/*.md")


@required("Chinese guide", "mention it in docs/zh/guide/{family}.md", is_estimator)
def is_in_chinese_guide(card: Card) -> bool:
    return mentioned(card, "docs/zh/guide/*.md")


@required("tests of its own", "tests/{family}/test_....py")
def has_tests(card: Card) -> bool:
    return mentioned(card, "tests/**/test_*.py")


@required(
    "worked example of the texts",
    "an Example in src/tercet/datasets/texts, unless the texts give no numbers for it",
    lambda card: is_estimator(card) and card.texts,
)
def has_worked_example(card: Card) -> bool:
    from tercet.datasets.texts import examples

    return any(example.uses(card.module, card.name) for example in examples())


@required("golden model file", "python -m tests.golden.make {name}", is_estimator)
def has_golden_file(card: Card) -> bool:
    return (ROOT / "tests" / "golden" / tercet.__version__ / f"{card.name}.skops").exists()


@required("kernels compiled ahead", "add its task to TASKS in src/tercet/cli/warm.py", is_estimator)
def is_warmed(card: Card) -> bool:
    from tercet.cli.warm import TASKS

    return card.task in TASKS


@required(
    "picture", "@picture in src/tercet/plot/models.py, or BLANK in tests/plot/test_models.py", is_estimator
)
def has_picture(card: Card) -> bool:
    from tercet.plot import plot_model
    from tests.conformance.population import data, make
    from tests.plot.test_models import BLANK

    if card.name in BLANK:
        return True
    X, y = data(card)
    return plot_model(make(card).fit(X, y)) is not None


@required(
    "benchmark row",
    "a row in benchmarks/, where a peer does the same work",
    lambda card: is_estimator(card) and card.peers,
)
def has_benchmark(card: Card) -> bool:
    return mentioned(card, "benchmarks/*.py")


def classes_without_card(name: str) -> Iterator[str]:
    """Modules of the package that define a public class or function of this name."""
    for source in sorted((ROOT / "src" / "tercet").rglob("*.py")):  # read, not imported: imports may warn
        if re.search(rf"^(class|def) {name}\b", source.read_text(encoding="utf-8"), re.M):
            yield ".".join(source.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def lacking(card: Card) -> list[tuple[str, str]]:
    """What a method lacks, each with the way to add it."""
    return [
        (what, how.format(family=card.family, name=card.name))
        for what, check, how in REQUIREMENTS
        if not check(card)
    ]


def main(arguments: list[str]) -> int:
    names = [name for name in arguments if not name.startswith("-")]
    if not names:
        print((__doc__ or "").partition("\n")[0])
        return 2
    cards = {card.name: card for card in collect()}
    complete = True
    for name in names:
        if name not in cards:
            found = list(classes_without_card(name))
            where = (
                f"{found[0]}: add @method(...) above it" if found else "no class or function has this name"
            )
            print(f"{name}\n  lacks card ({where})")
            complete = False
            continue
        missing = [f"lacks {what}: {how}" for what, how in lacking(cards[name])]
        print("\n  ".join([name, *(missing or ["lacks nothing"])]))
        complete = complete and not missing
    known = [name for name in names if name in cards]
    if "--list" in arguments or not known:
        return int(not complete)
    options = ["-q", "--tb=line", "--disable-warnings"]
    alone = pytest.main([*options, *PER_CARD, "-k", " or ".join(known)])
    whole = pytest.main([*options, *WHOLE])
    return int(bool(alone or whole) or not complete)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
