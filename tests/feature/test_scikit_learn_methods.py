"""Cards that name scikit-learn's class: what they say is true, and each has a case of the texts."""

import importlib
import inspect
import json

import pytest

import tercet as library
from tercet.cli.parameter_values import find_method
from tercet.cli.warm import cards as warmed
from tercet.datasets.texts import examples
from tests.cli.running import refused, tercet
from tests.conformance.population import CARDS

NAMED = [card for card in library.methods() if card.kind == "scikit-learn"]
every_card = pytest.mark.parametrize("card", NAMED, ids=lambda card: card.name)


def test_the_spec_is_covered():
    """Splits, measures, preprocessing and scaling as the texts use them."""
    wanted = {
        "train_test_split", "KFold", "StratifiedKFold", "LeaveOneOut", "cross_val_score", "GridSearchCV",
        "zero_one_loss", "accuracy_score", "confusion_matrix", "precision_score", "recall_score", "f1_score",
        "mean_squared_error", "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "OneHotEncoder",
        "PowerTransformer", "SimpleImputer", "KNNImputer", "IterativeImputer", "MissingIndicator", "Pipeline",
        "ColumnTransformer",
    }  # fmt: skip
    assert {card.name for card in NAMED} == wanted


@every_card
def test_the_import_line_imports_it(card):
    names = {}
    exec(card.import_line, names)
    assert names[card.name] is card.load()
    assert getattr(importlib.import_module(card.module), card.name) is card.load()
    assert inspect.isclass(card.load()) or inspect.isroutine(card.load())


@every_card
def test_a_case_of_the_texts_uses_it(card):
    places = {example.place[:3] for example in examples() if example.uses(card.module, card.name)}
    assert places & {text[:3] for text in card.texts}


def test_conformance_compare_and_warm_pass_them_over():
    names = {card.name for card in NAMED}
    assert not names & {card.name for card in CARDS}
    assert not names & {card.name for card in warmed()}


def test_list_and_info_show_the_import_line():
    listed = tercet("list", "--chapter", "1").stdout
    assert "from sklearn.model_selection import KFold" in listed
    narrow = tercet("list", "--chapter", "1", COLUMNS="70").stdout
    assert "    from sklearn.metrics import f1_score" in narrow
    page = tercet("info", "k折交叉验证", "--lang", "zh").stdout
    for words in (
        "KFold  S 折交叉验证, k 折交叉验证",
        "from sklearn.model_selection import KFold",
        "这是 scikit-learn 的方法。",
        "https://scikit-learn.org/stable/modules/generated/sklearn.model_selection.KFold.html",
        "n_splits = 5",
        "Li Section 1.5.2",
        ">>> kf = KFold(n_splits=2)",
    ):
        assert words in page, words
    known = json.loads(tercet("info", "IterativeImputer", "--json").stdout)
    assert known["kind"] == "scikit-learn"
    assert known["import"] == (
        "from sklearn.experimental import enable_iterative_imputer; from sklearn.impute import IterativeImputer"
    )


def test_they_are_no_estimators_of_ours():
    from tercet.cli.errors import Refusal

    with pytest.raises(Refusal, match="StandardScaler is a method of scikit-learn"):
        find_method("StandardScaler")
    assert "from sklearn.preprocessing import MinMaxScaler" in refused(
        tercet("fit", "minmaxscaler", "iris", "-o", "model.skops"), 2
    )
