"""Columns of words of a source are categories, with the codes and the bits of the same frame in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import clone

import tercet
from tercet.datasets import Source, SourceError
from tercet.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from tercet.linear_model import LogisticRegression
from tercet.mixture import CategoricalMixture
from tercet.naive_bayes import AODE, KDB, TAN, CategoricalNB, MixedNB
from tercet.tree import DecisionTreeClassifier
from tests.streaming.test_same_bits import assert_same

N = 12_000
WORDS = np.array(["plum", "apple", "", "Ärger", "zebra", "梨", "fig"])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    drawn = [(y + rng.integers(0, 3, N)) % 7 for _ in range(3)]
    columns = {f"w{j}": WORDS[codes].astype(object) for j, codes in enumerate(drawn)}
    columns["w1"][::11] = None
    columns["w2"][N - 3 :] = "only at the end"
    numbers = {f"n{j}": np.floor(rng.normal(size=N) + y).clip(-2, 3) + 2 for j in range(17)}
    return pd.DataFrame({**columns, **numbers, "y": y, "weight": rng.random(N) + 0.5})


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    place = tmp_path_factory.mktemp("words")
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(whole.slice(0, 5000), place / "0.parquet", row_group_size=1700)
    parquet.write_table(whole.slice(5000), place / "1.parquet", row_group_size=3000)
    return place


NUMBERS = [f"n{j}" for j in range(17)]
CASES = [
    CategoricalNB(),
    CategoricalNB(categories="seen"),
    MixedNB(),
    AODE(),
    TAN(),
    KDB(),
    CategoricalMixture(2, max_iter=2, tol=0.0, random_state=0, init_params="random_from_data"),
    AODE(categorical_features=["n3"]),
    DecisionTreeClassifier(max_depth=4, max_bins=255),
    HistGradientBoostingClassifier(max_iter=2, early_stopping=False),
]


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("model", CASES, ids=lambda model: str(model)[:40])
def test_words_of_a_source_give_the_bits_of_a_frame(model, frame, folder):
    X = frame.drop(columns=["y", "weight"])
    whole = clone(model).fit(X, frame["y"], sample_weight=frame["weight"])
    with tercet.engine("stream"):
        streamed = clone(model).fit(Source(folder), y="y", sample_weight="weight")
    loaded = clone(model).fit(Source(folder), y="y", sample_weight="weight")
    for found in (streamed, loaded):
        for mine, theirs in zip(found.categories_, whole.categories_, strict=True):
            assert (mine is None) == (theirs is None)
            assert mine is None or mine.tolist() == theirs.tolist()
    assert_same(streamed, whole)
    strange = frame.iloc[:900].assign(w0=lambda rows: rows["w0"].where(rows.index % 5 > 0, "never seen"))
    expected = whole.predict(strange[X.columns])
    np.testing.assert_array_equal(np.asarray(streamed.predict(Source(strange))), expected)
    np.testing.assert_array_equal(np.asarray(loaded.predict(Source(strange))), expected)


def test_words_of_a_forest(frame, folder):
    model = RandomForestClassifier(2, max_depth=4, random_state=0)
    with tercet.engine("stream"):
        model.fit(Source(folder, columns=["w0", "w1", "w2", "n0", "y"]), y="y")
    assert model.categories_[2].tolist() == sorted(set(frame["w2"]))
    few = frame[["w0", "w1", "w2", "n0"]].iloc[:700].assign(w0="never seen")
    np.testing.assert_array_equal(np.asarray(model.predict_proba(Source(few))), model.predict_proba(few))
    assert model.score(Source(folder), "y") > 0.4


def test_words_of_text_files_and_of_categories(frame, tmp_path):
    """A word without letters is a gap in a text file; the order of words is their own, not that of a dtype."""
    few = frame[["w0", "w1", "n0", "y"]]
    few.to_csv(tmp_path / "rows.csv", index=False)
    model = CategoricalNB().fit(pd.read_csv(tmp_path / "rows.csv").drop(columns="y"), few["y"])
    with tercet.engine("stream"):
        assert_same(CategoricalNB().fit(Source(tmp_path / "rows.csv"), y="y"), model)
    order = pd.CategoricalDtype(["zebra", "not there", *sorted(set(WORDS) - {"zebra"})])
    listed = CategoricalNB().fit(Source(few.astype({"w0": order})), y="y")
    assert listed.categories_[0].tolist() == sorted(set(few["w0"]))
    assert (
        0
        < listed.score(Source(few.astype({"w0": order})), "y")
        == listed.score(few[["w0", "w1", "n0"]], few["y"])
    )


def test_words_where_only_numbers_are_features(frame, folder):
    with pytest.raises(SourceError, match=r"column 'w0' holds (large_)?string, not numbers"):
        LogisticRegression().fit(Source(folder), y="y")
    model = CategoricalNB().fit(frame[NUMBERS], frame["y"])
    with pytest.raises(SourceError, match=r"column 'n0' holds (large_)?string, not numbers"):
        model.predict(Source(frame[NUMBERS].astype(str)))
