"""Hidden Markov models learn from sources of sequences, whose borders chunks keep."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.base import clone

import tercet
from tercet.core import chunks
from tercet.datasets import Source, SourceError
from tercet.sequence import CRF, CategoricalHMM, GaussianHMM
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
    with pytest.raises(TypeError, match=r"CRF.* cannot be learned from a source"):
        CRF().fit(source, y="sequence")
    columns["x1"] = np.where(np.arange(len(rows)) == 1500, np.nan, columns["x1"])
    source = source_of(tmp_path, columns)
    with (
        tercet.engine("stream"),
        pytest.raises(SourceError, match=r"column 'x1' has NaN.* in .*0\.parquet, row group 2, row 100"),
    ):
        GaussianHMM(2).fit(source, lengths=lengths)
