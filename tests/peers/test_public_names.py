"""Every public name of scikit-learn is in the module of the same name here: ours, or scikit-learn's own object."""

import ast
import importlib
import inspect

import pytest
import sklearn
from sklearn.utils.discovery import all_displays, all_estimators, all_functions

import tercet
from tercet.core.catalog import SCIKIT_LEARN
from tercet.core.lazy import ROOT, own_names, scikit_learn_table
from tests.scikit_learn_names import (
    DIFFERENT,
    HEAD,
    experimental_names,
    files,
    home,
    names_by_family,
    public_modules,
    scikit_learn_modules,
)

MODULES = sorted(module for module in public_modules() if module)
# They are not of scikit-learn's making.
VENDORED = {"externals"}


def pair(module):
    """Scikit-learn's module and the one of the same name here; of "" the packages."""
    return scikit_learn_modules()[module], importlib.import_module(f"tercet.{module}".rstrip("."))


def public_names(module):
    """The names that a module of scikit-learn offers."""
    return set(public_modules()[module])


@pytest.mark.parametrize("module", ["", *MODULES])
def test_every_public_name_is_here(module):
    theirs, ours = pair(module)
    names = {*getattr(theirs, "__all__", public_names(module))} - VENDORED
    assert names <= {*ours.__all__, *experimental_names()}  # (other tests may have imported the switches)
    assert {*ours.__all__} <= {*dir(ours)}
    if not hasattr(theirs, "__all__"):  # nothing says what is public: whatever can be imported
        names |= {
            name
            for name, value in vars(theirs).items()
            if not name.startswith("_") and not inspect.ismodule(value)
        }
    own = own_names(ours.__name__)
    for name in sorted(names):
        mine, peer = getattr(ours, name), getattr(theirs, name)
        if inspect.ismodule(peer):
            assert mine.__name__ == peer.__name__.replace("sklearn", "tercet", 1)
        elif name in own:
            assert inspect.isclass(mine) == inspect.isclass(peer), name
            assert callable(mine) == callable(peer), name
        else:
            assert mine is peer, name


def test_estimators_functions_and_displays_are_where_scikit_learn_has_them():
    classes = [*all_estimators(), *all_displays()]
    functions = [  # but for those that only its private modules have
        (name, function)
        for name, function in all_functions()
        if hasattr(scikit_learn_modules().get(home(name, function)), name)
    ]
    assert len(classes) > 200
    assert len(functions) > 250
    for name, theirs in classes + functions:
        _, module = pair(home(name, theirs))
        assert getattr(module, name) is theirs or name in own_names(module.__name__), (module, name)


def test_a_public_module_of_scikit_learn_has_one_here():
    without_names = {module for module in scikit_learn_modules() if module not in public_modules()}
    # data files, and modules that only have private names
    assert {name.partition(".")[0] for name in without_names} <= {"datasets", "utils"}
    for module in scikit_learn_modules():
        theirs, ours = pair(module)
        assert ours.__name__ == theirs.__name__.replace("sklearn", "tercet", 1)


def test_ours_come_first_wherever_scikit_learn_has_the_name():
    """A name of ours that does not take the place of scikit-learn's is on the list, with its reason."""
    others = set()
    for module in MODULES:
        theirs, _ = pair(module)
        for name in public_names(module) - {*own_names(f"tercet.{module}")}:
            homes = [family for family, names in names_by_family().items() if name in names]
            if homes and not inspect.ismodule(getattr(theirs, name)):
                others.add(f"{module}.{name}")
    assert others == set(DIFFERENT)


def test_cards_are_of_our_names_only():
    """What is passed on has no card: conformance, fuzzing and the catalogue go by the cards."""
    for card in tercet.methods():
        own = card.kind != SCIKIT_LEARN
        assert own == (card.name in own_names(card.module.replace("sklearn", "tercet", 1))), card.name


def test_the_table_and_the_stubs_are_true():
    """`make names` writes them, of the version that the table names."""
    version = scikit_learn_table()["version"]
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == [] or not sklearn.__version__.startswith(f"{version}."), "run `make names`"


def test_stubs_say_what_is_imported():
    for module in ["", *MODULES]:
        stub = ROOT.joinpath(*module.split("."), "__init__.pyi")
        _, ours = pair(module)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module != "typing":
                there = importlib.import_module(node.module)
                for alias in node.names:
                    name = alias.asname or alias.name
                    if node.module.startswith("sklearn") and not hasattr(there, alias.name):
                        continue  # gone in another version than the table's
                    assert getattr(ours, name) is getattr(there, alias.name), f"{module}.{name}"


def test_no_file_stays_of_a_module_that_is_gone():
    """Files that say by their first line that they are generated are those of the table, and no others."""
    found = {
        path.parent
        for path in [*ROOT.rglob("__init__.py"), *ROOT.rglob("__init__.pyi")]
        if path.read_text(encoding="utf-8").startswith(HEAD)
    }
    assert found == {ROOT.joinpath(*module.split(".")) for module in scikit_learn_table()["ours"]}
