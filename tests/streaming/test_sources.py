"""Sources: every kind gives the same rows, in any pieces, as often as asked for; errors name the place."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline

import tercet
from tercet import EarlyStopping, Recorder
from tercet.cluster import KMeans
from tercet.core import chunks
from tercet.core.memory import available
from tercet.core.sources import in_chunks
from tercet.datasets import Source, SourceError
from tercet.decomposition import PCA
from tercet.linear_model import LinearRegression, LogisticRegression
from tercet.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from tercet.svm import SVC


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    frame["n"] = rng.integers(0, 9, 300)
    frame["label"] = np.where(frame["a"] > 0, "p", "q")
    return frame


def halves(frame):
    return frame.iloc[:170], frame.iloc[170:]


def parquet_files(frame, folder):
    for k, part in enumerate(halves(frame)):
        parquet.write_table(
            pa.Table.from_pandas(part, preserve_index=False), folder / f"{k}.parquet", row_group_size=50
        )
    return folder


def feather_files(frame, folder):
    for k, part in enumerate(halves(frame)):
        feather.write_feather(
            pa.Table.from_pandas(part, preserve_index=False), folder / f"{k}.feather", chunksize=60
        )
    return str(folder / "*.feather")


def csv_files(frame, folder):
    for k, part in enumerate(halves(frame)):
        csv.write_csv(pa.Table.from_pandas(part, preserve_index=False), folder / f"{k}.csv")
    return [folder / "0.csv", folder / "1.csv"]


def dask_frame(frame, folder):
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=3)


def reader(frame, folder):
    return pa.Table.from_pandas(frame, preserve_index=False).to_reader(max_chunksize=70)


KINDS = {
    "parquet": parquet_files,
    "feather": feather_files,
    "csv": csv_files,
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "reader": reader,
    "batches": lambda frame, folder: lambda: iter(halves(frame)),
    "iterator": lambda frame, folder: iter(halves(frame)),
    "dask": dask_frame,
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_tables_give_the_same_rows(kind, small, tmp_path):
    source = Source(KINDS[kind](small, tmp_path))
    assert source.n_rows == 300
    for _ in range(2):  # as often as asked for
        X, y = source.to_arrays(y="label")
        np.testing.assert_array_equal(X, small[["a", "b", "c", "n"]].to_numpy())
        assert y.tolist() == small["label"].tolist()
    some, label = source.sample(20, y="label", random_state=1)
    assert some.shape == (20, 4)
    assert label.shape == (20,)
    part = [piece.X for piece in source.read(source.features(names=["c", "a"]), (), 100, 260)]
    np.testing.assert_array_equal(np.concatenate(part), small[["c", "a"]].to_numpy()[100:260])


@pytest.mark.parametrize("kind", ["array", "memmap", "npy", "batches", "iterator"])
def test_arrays_give_the_same_rows(kind, tmp_path):
    X = np.random.default_rng(0).normal(size=(301, 4)).astype(np.float32)
    np.save(tmp_path / "0.npy", X[:200])
    np.save(tmp_path / "1.npy", X[200:])
    mapped = np.memmap(tmp_path / "raw", np.float32, "w+", shape=X.shape)
    mapped[:] = X
    given = {
        "array": X,
        "memmap": mapped,
        "npy": tmp_path,
        "batches": lambda: (X[i : i + 90] for i in range(0, 301, 90)),
        "iterator": (X[i : i + 90] for i in range(0, 301, 90)),
    }[kind]
    source = Source(given, format="npy" if kind == "npy" else None)
    for _ in range(2):
        (found,) = source.to_arrays()
        np.testing.assert_array_equal(found, X)
        assert found.dtype == np.float32
    rest, last = source.to_arrays(y=3)  # columns have numbers
    np.testing.assert_array_equal(rest, X[:, :3])
    np.testing.assert_array_equal(last, X[:, 3])


@pytest.mark.parametrize("kind", ["svmlight", "npz", "batches", "matrix"])
def test_sparse_rows(kind, tmp_path):
    X = sparse.random_array((300, 40), density=0.1, format="csr", rng=np.random.default_rng(0))
    y = np.arange(300) % 3
    for k, part in enumerate((slice(0, 170), slice(170, 300))):
        dump_svmlight_file(X[part], y[part], str(tmp_path / f"{k}.svmlight"), zero_based=False)
        sparse.save_npz(tmp_path / f"{k}.npz", X[part])
    given = {
        "svmlight": str(tmp_path / "*.svmlight"),
        "npz": [tmp_path / "0.npz", tmp_path / "1.npz"],
        "batches": lambda: iter([X[:170], X[170:]]),
        "matrix": X,
    }[kind]
    source = Source(given)
    (found,) = source.to_arrays()[:1]
    np.testing.assert_allclose(found.toarray(), X.toarray(), rtol=1e-12)
    assert source.n_entries == X.nnz
    target = "target" if kind == "svmlight" else y
    model = MultinomialNB().fit(source, y=target)
    np.testing.assert_array_equal(model.predict(X), MultinomialNB().fit(X, y).predict(X))
    np.testing.assert_array_equal(np.asarray(model.predict(source)), model.predict(X))


@pytest.mark.parametrize(
    "model", [MultinomialNB(), BernoulliNB(), LogisticRegression(), LinearRegression()], ids=str
)
def test_sparse_rows_stream(model):
    """Sums of sparse rows are added up in another order than in memory: the same to rounding."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 30), density=0.2, format="csr", rng=rng)
    y = (np.asarray(X.sum(axis=1)).ravel() > 3).astype(int)
    with tercet.engine("stream"):
        streamed = model.fit(Source(X), y=y)
    found = {name: getattr(streamed, name) for name in ("coef_", "feature_count_") if hasattr(streamed, name)}
    whole = model.fit(X, y)
    for name, value in found.items():
        np.testing.assert_allclose(value, getattr(whole, name), rtol=1e-9)


def test_chunks_are_cut_anew():
    pieces = [(np.arange(a, b), None) for a, b in ((0, 3), (3, 4), (4, 11), (11, 12))]
    for borders in ([0, 12], [0, 1, 5, 12], [0, 4, 8, 12]):
        found = [chunk for chunk, _ in in_chunks(iter(pieces), borders)]
        assert [len(chunk) for chunk in found] == np.diff(borders).tolist()
        np.testing.assert_array_equal(np.concatenate(found), np.arange(12))


def test_predictions_are_sources(small, tmp_path):
    source = Source(parquet_files(small, tmp_path))
    _, y = source.to_arrays(y="label")
    model = LogisticRegression().fit(source, y="label")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "n"]
    np.testing.assert_array_equal(
        np.concatenate(list(model.predict(source))), model.predict(small[["a", "b", "c", "n"]])
    )
    proba = model.predict_proba(source)
    assert np.asarray(proba).shape == (300, 2)
    assert model.score(source, y="label") == pytest.approx(model.score(small[["a", "b", "c", "n"]], y))
    second = GaussianNB().fit(proba, y="label")  # the other columns come along
    assert second.n_features_in_ == 2
    counts = LinearRegression().fit(
        Source(tmp_path, columns=["a", "b", "n"]), y="n", sample_weight=np.ones(300)
    )
    expected = LinearRegression().fit(small[["a", "b"]], small["n"]).score(small[["a", "b"]], small["n"])
    assert counts.score(source, y="n") == pytest.approx(expected)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_bad_rows_are_named_by_file_row_group_and_column(engine, small, tmp_path, monkeypatch):
    many = pd.concat([small] * 20, ignore_index=True)
    many.loc[230, "b"] = np.nan
    source = Source(parquet_files(many, tmp_path), columns=["a", "b", "n"])
    if engine == "stream":
        monkeypatch.setattr(chunks, "CHUNK_BYTES", 1 << 14)
        monkeypatch.setenv("TERCET_MEMORY", "1KB")
    with pytest.raises(SourceError, match="LinearRegression: column 'b' has NaN") as caught:
        LinearRegression().fit(source, y="n")
    assert "1.parquet, row group 1, row 10, row 230 of the source" in str(caught.value)


def test_other_errors_name_what_is_wrong(small, tmp_path):
    source = Source(parquet_files(small, tmp_path))
    with pytest.raises(SourceError, match=r"column 'label' holds (large_)?string, not numbers"):
        LinearRegression().fit(source, y="n")
    with pytest.raises(SourceError, match=r"no column 'lable'\. Did you mean 'label'"):
        LogisticRegression().fit(source, y="lable")
    with pytest.raises(ValueError, match="needs a target"):
        LogisticRegression().fit(source, y=None)
    with pytest.raises(
        TypeError, match=r"SVC cannot learn from a source: it needs all rows at once\. Use Logistic"
    ):
        SVC().fit(source, y="label")
    with pytest.raises(TypeError, match="Use 'lbfgs' or 'newton-cholesky'"):
        LogisticRegression(solver="saga").fit(source, y="label")
    with pytest.raises(SourceError, match="no such file"):
        Source(tmp_path / "none.parquet")
    with pytest.raises(TypeError, match="got int"):
        Source(3)
    small.loc[5, "label"] = None
    with pytest.raises(SourceError, match="column 'label' is missing"):
        LogisticRegression().fit(Source(small), y="label")
    frame = small.drop(columns="label").assign(w=-1.0)
    with pytest.raises(ValueError, match="not be negative"):
        LinearRegression().fit(Source(frame), y="n", sample_weight="w")
    (tmp_path / "0.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(SourceError, match=r"0\.parquet cannot be read"):
        Source(tmp_path)


def test_files_that_change_are_noticed(small, tmp_path):
    source = Source(parquet_files(small, tmp_path))
    assert source.n_rows == 300
    parquet_files(small.iloc[:280], tmp_path)
    with pytest.raises(SourceError):
        source.to_arrays(y="label")


def test_a_source_goes_through_a_pipeline(small, tmp_path):
    source = Source(parquet_files(small, tmp_path))
    X, y = source.to_arrays(y="label")
    streamed = make_pipeline(PCA(2), LogisticRegression()).fit(source, "label")
    whole = make_pipeline(PCA(2), LogisticRegression()).fit(X, y)
    # the projections of PCA are products by BLAS, whose last digit depends on how many rows it gets at a time
    np.testing.assert_allclose(streamed[-1].coef_, whole[-1].coef_, rtol=PCA.batch_rounding)
    np.testing.assert_array_equal(np.asarray(streamed.predict(source)), whole.predict(X))
    assert not hasattr(KMeans(2, random_state=0).fit(Source(small[["a", "b"]])), "labels_")
    labels = KMeans(2, random_state=0).fit_predict(Source(small[["a", "b"]]))
    assert np.bincount(np.asarray(labels)).sum() == 300


def test_callbacks_follow_the_passes_of_a_source(rows, folder, names):
    recorder = Recorder()
    model = LogisticRegression(solver="newton").set_callbacks(recorder)
    with tercet.engine("stream"):
        model.fit(Source(folder, columns=[*names, "two"]), y="two")
        stopping = LogisticRegression().set_callbacks(EarlyStopping())
        with pytest.raises(ValueError, match="cannot hold out rows of a source"):
            stopping.fit(Source(folder, columns=[*names, "two"]), y="two")
    assert model.n_iter_[0] == len(model.history_["fun"])
    with pytest.raises(TypeError, match="X is a source; this takes arrays"):
        KMeans(2).fit(rows["X"][:50]).score(Source(rows["X"][:50]))


@pytest.mark.parametrize("value", ["12", "300MB", "1.5GiB", "2e6"])
def test_memory_has_units(value, monkeypatch):
    monkeypatch.setenv("TERCET_MEMORY", value)
    assert available() == {"12": 12, "300MB": 3 * 10**8, "1.5GiB": 3 << 29, "2e6": 2 * 10**6}[value]
