"""Sequence models learn from sources of sequences, whose borders chunks keep."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse
from sklearn.base import clone

import tercet
from tercet.core import chunks
from tercet.datasets import Source, SourceError
from tercet.sequence import CRF, MEMM, CategoricalHMM, GaussianHMM, StructuredPerceptron
from tercet.sequence.crf._engine import features, objective
from tests.streaming.test_same_bits import assert_same


@pytest.fixture(autouse=True)
def smaller_chunks(small_chunks, monkeypatch):
    """A single column of symbols is several chunks, too."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 15)


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 90, 400)
    name = np.repeat([f"s{k}" for k in rng.permutation(400)], lengths)
    state = rng.integers(0, 3, lengths.sum()).repeat(3)[: lengths.sum()]
    rows = rng.normal(size=(lengths.sum(), 3)) + 2.0 * state[:, None]
    return lengths, name, rows, (state + (rng.random(state.size) < 0.1)).astype(float)


def source_of(folder, columns):
    whole = pa.table(columns)
    half = whole.num_rows // 2 + 17
    for k, part in enumerate((whole.slice(0, half), whole.slice(half))):
        parquet.write_table(part, folder / f"{k}.parquet", row_group_size=700)
    return Source(folder)


CASES = [
    GaussianHMM(3, n_iter=4, tol=0.0, random_state=0),
    GaussianHMM(2, covariance_type="full", n_iter=3, tol=0.0, random_state=1, implementation="log"),
    CategoricalHMM(3, n_iter=4, tol=0.0, random_state=0),
]


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize(("by", "weighted"), [("lengths", False), ("column", True)])
@pytest.mark.parametrize("model", CASES, ids=str)
def test_sequences_of_a_source_give_the_bits_of_memory(model, by, weighted, sequences, tmp_path):
    lengths, name, rows, symbols = sequences
    X = symbols if model.symbols else rows
    weight = np.linspace(0.5, 2.0, lengths.size) if weighted else None
    columns = {f"x{j}": column for j, column in enumerate(np.atleast_2d(X.T))}
    if by == "column":
        columns["sequence"] = name
    source = source_of(tmp_path, columns)
    whole = clone(model).fit(X, lengths=lengths, sample_weight=weight)
    with tercet.engine("stream"):
        given = lengths if by == "lengths" else "sequence"
        streamed = clone(model).fit(source, lengths=given, sample_weight=weight)
    assert_same(streamed, whole)
    states = streamed.predict(source, lengths=given)
    assert len(list(states)) > 1
    np.testing.assert_array_equal(np.asarray(states), whole.predict(X, lengths))
    loaded = clone(model).fit(source, lengths=given, sample_weight=weight)
    np.testing.assert_array_equal(loaded.transmat_, whole.transmat_)
    expected = whole.score(X, lengths=lengths, sample_weight=weight)
    np.testing.assert_allclose(
        streamed.score(source, lengths=given, sample_weight=weight), expected, rtol=1e-12
    )


LABELLING = [
    CRF(max_iterations=4),
    CRF(max_iterations=3, c1=0.5, transition_attributes="x1", all_possible_transitions=True),
    MEMM(max_iterations=4),
]


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks of tokens."""
    monkeypatch.setattr(objective, "BLOCK", 1 << 12)
    monkeypatch.setattr(features, "COUNTED", 1 << 12)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("model", LABELLING, ids=str)
def test_labelled_sequences_of_a_source_give_the_bits_of_memory(
    model, kind, sequences, tmp_path, small_blocks
):
    lengths, name, rows, symbols = sequences
    y, weight = np.array(["a", "b", "c", "d"])[symbols.astype(int)], np.linspace(0.5, 2.0, lengths.size)
    if kind == "dense":
        X, given, label = rows, "sequence", "label"
        columns = {f"x{j}": column for j, column in enumerate(rows.T)}
        source = source_of(tmp_path, {**columns, "label": y, "sequence": name})
    else:
        X, given, label = sparse.csr_array(np.where(rows > 1, np.round(rows, 1), 0.0)), lengths, y
        source = Source(X)
    whole = clone(model).fit(X, y, lengths=lengths, sample_weight=weight)
    with tercet.engine("stream"):
        streamed = clone(model).fit(source, y=label, lengths=given, sample_weight=weight)
    assert_same(streamed, whole)
    assert streamed.attributes_ == whole.attributes_
    labels = streamed.predict(source, lengths=given)
    assert len(list(labels)) > 1
    np.testing.assert_array_equal(np.asarray(labels), whole.predict(X, lengths))
    loaded = clone(model).fit(source, y=label, lengths=given, sample_weight=weight)
    assert_same(loaded, whole)
    for of in ("tokens", "sequences"):
        assert streamed.score(source, label, lengths=given, of=of) == whole.score(X, y, lengths, of=of)
    np.testing.assert_allclose(
        streamed.score(source, label, given, weight), whole.score(X, y, lengths, weight), rtol=1e-12
    )


def test_unknown_labels_of_a_source_do_not_count_in_a_score(sequences, tmp_path):
    lengths, name, rows, symbols = sequences
    label = np.array(["a", "b", "c", "d"], dtype=object)[symbols.astype(int)]
    model = CRF(max_iterations=2).fit(pd.DataFrame({"x0": rows[:, 0]}), label, lengths=lengths)
    label[::3], label[1::50] = None, "strange"
    source = source_of(tmp_path, {"x0": rows[:, 0], "x1": rows[:, 1], "label": label, "sequence": name})
    expected = model.score(pd.DataFrame({"x0": rows[:, 0]}), label, lengths)
    assert 0 < expected < 1
    assert model.score(source, "label", lengths="sequence") == expected
    with pytest.raises(ValueError, match="y has no known label"):
        model.score(Source(pd.DataFrame({"x0": [1.0], "label": [None]})), "label")


def test_unknown_labels_of_a_source_are_named(sequences, tmp_path):
    lengths, _, rows, symbols = sequences
    label = pa.array([None if k == 900 else f"s{s:g}" for k, s in enumerate(symbols)])
    source = source_of(tmp_path, {"x0": rows[:, 0], "label": label})
    with (
        tercet.engine("stream"),
        pytest.raises(SourceError, match=r"CRF: y is missing .* in .*0\.parquet, row group 1, row 200"),
    ):
        CRF().fit(source, y="label", lengths=lengths)


def test_what_is_wrong_with_sequences_is_named(sequences, tmp_path):
    lengths, _, rows, _ = sequences
    columns = {f"x{j}": column for j, column in enumerate(rows.T)}
    source = source_of(tmp_path, {**columns, "sequence": np.arange(len(rows)) % 7})
    with pytest.raises(SourceError, match="sequence 0 of column 'sequence' is in several places"):
        GaussianHMM(2).fit(source, lengths="sequence")
    with pytest.raises(ValueError, match="lengths add up to 3"):
        GaussianHMM(2).fit(source, lengths=[1, 2])
    with pytest.raises(ValueError, match="one column of symbols; it has 4"):
        CategoricalHMM(2).fit(source, lengths=lengths)
    with pytest.raises(TypeError, match="learns hidden states from a source"):
        GaussianHMM(2).fit(source, y="sequence", lengths=lengths)
    with pytest.raises(
        TypeError, match=r"CRF cannot learn from a source: algorithm='ap' .*algorithm='lbfgs'"
    ):
        CRF("ap").fit(source, y="sequence")
    with pytest.raises(TypeError, match=r"algorithm='iis' keeps numbers for all tokens"):
        CRF("iis").fit(source, y="sequence")
    with pytest.raises(TypeError, match=r"StructuredPerceptron cannot learn from a source.* Use CRF or MEMM"):
        StructuredPerceptron().fit(source, y="sequence")
    with pytest.raises(ValueError, match="CRF needs labels: fit\\(source, y="):
        CRF().fit(source, y=None)
    columns["x1"] = np.where(np.arange(len(rows)) == 1500, np.nan, columns["x1"])
    source = source_of(tmp_path, columns)
    with (
        tercet.engine("stream"),
        pytest.raises(SourceError, match=r"column 'x1' has NaN.* in .*0\.parquet, row group 2, row 100"),
    ):
        GaussianHMM(2).fit(source, lengths=lengths)
