"""What new methods still lack: `python -m tests.newcomer NAME ...`.

Runs, for the named cards only, all that is asked of every method wherever it is asked: conformance, Chinese words,
the page of `tercet info`, a picture, a golden model file, declarations of fitted attributes, parameters as in
scikit-learn; and the rules that hold for the library as a whole. One list of failures instead of a surprise in each
of ten files.
"""

import sys

import pytest

import tercet

# Files with one test for each card; of these only the tests of the named cards run.
PER_CARD = (
    "tests/cli/test_catalogue.py",
    "tests/cli/test_translation.py",
    "tests/conformance",
    "tests/core",
    "tests/golden/test_golden.py",
    "tests/peers",
    "tests/plot/test_models.py",
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
    "tests/golden/test_golden.py::test_this_version_has_its_files",
    "tests/peers/test_public_names.py",
    "tests/structure",
)


def main(names: list[str]) -> int:
    known = {card.name for card in tercet.methods()}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        print(
            f"No card is called {', '.join(unknown)}; is the catalogue written (make catalog)?"
            if unknown
            else __doc__.partition("\n")[0]
        )
        return 2
    options = ["-q", "--tb=line", "-p", "no:warnings"]
    alone = pytest.main([*options, *PER_CARD, "-k", " or ".join(names)])
    whole = pytest.main([*options, *WHOLE])
    return int(alone or whole)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
