"""`make check` runs the tests of what changed."""

from pathlib import Path

import pytest

from tests.changed import SOURCES, examples_of, files_of_tests, methods_of
from tests.newcomer import ROOT


def test_every_source_file_has_tests_that_run():
    files = [str(file.relative_to(ROOT)) for file in SOURCES.rglob("*") if file.suffix in (".py", ".json")]
    without = [file for file in files if not files_of_tests(file) and not examples_of([file])]
    assert without == []


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("src/tercet/svm/base.py", "tests/svm/test_svc.py"),
        ("src/tercet/sequence/hmm/base.py", "tests/sequence/test_categorical_hmm.py"),
        ("src/tercet/cli/zh/cards.json", "tests/cli/test_translation.py"),
        ("src/tercet/core/kernel_runs.json", "tests/core/test_kernel_runs.py"),
        ("tests/graphical/networks.py", "tests/graphical/test_bayesian_network.py"),
        ("docs/guide/rules.md", "tests/docs"),
        ("tests/graphical/conftest.py", "tests/graphical"),
    ],
)
def test_the_tests_of_a_file(file, test):
    assert test in files_of_tests(file)
    assert all((ROOT / found).exists() for found in files_of_tests(file))


def test_the_methods_that_a_file_serves():
    assert "SVC" in methods_of(["src/tercet/svm/base.py"])
    assert methods_of(["src/tercet/linear_model/perceptron.py"]) == ["Perceptron"]
    assert methods_of(["README.md"]) == []


def test_worked_examples_of_a_chapter():
    chapter = next((SOURCES / "datasets" / "texts").glob("watermelon_ch*.py"))
    assert examples_of([str(chapter.relative_to(ROOT)), "README.md"]) == [chapter.stem]
    assert Path(chapter).exists()
