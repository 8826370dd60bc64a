"""What becomes of numbers, dates, categories, texts and sparse blocks."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from tercet.datasets import Table
from tercet.feature import TableEncoder, infer_schema
from tests.feature.fruit import FRAME, RECORDS, RNG, SCHEMA, dense


def encode(frame, rows=None, **options):
    """The features of a frame, learned from the rows given (all, by default), by name."""
    schema = infer_schema(frame)
    records = schema.to_records(frame)
    encoder = TableEncoder(schema, **options).fit(records if rows is None else records.take(rows))
    out = dense(encoder.transform(records))
    names = encoder.get_feature_names_out().tolist()
    assert out.shape == (len(records), len(names))
    assert encoder.source_.shape == (len(names),)
    return dict(zip(names, out.T, strict=True))


# --- numbers -------------------------------------------------------------------------------------------------

NUMBERS = arrays(
    np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.floats(-1e6, 1e6, width=32)
)


@settings(max_examples=60, deadline=None)
@given(NUMBERS)
def test_fitted_rows_have_mean_0_and_deviation_1(X):
    schema = infer_schema(np.column_stack([X, np.linspace(0.1, 0.7, len(X))]))
    records = schema.to_records(np.column_stack([X, np.linspace(0.1, 0.7, len(X))]))
    Z = TableEncoder().fit(records).transform(records)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z.std(axis=0), 1, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(NUMBERS)
def test_minmax_stays_in_the_interval(X):
    records = infer_schema(np.column_stack([X, np.arange(len(X)) / 3])).to_records(
        np.column_stack([X, np.arange(len(X)) / 3])
    )
    half = records.take(np.arange(0, len(X), 2))
    Z = TableEncoder(scale="minmax").fit(half).transform(records)
    assert Z.min() >= 0
    assert Z.max() <= 1
    fitted = TableEncoder(scale="minmax").fit(records).transform(records)
    np.testing.assert_array_equal(fitted.max(axis=0), 1)
    np.testing.assert_array_equal(fitted.min(axis=0), 0)


@pytest.mark.parametrize("size", [1e308, 1e160, 1e-160, 1e-300])
@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_huge_and_tiny_numbers(size, scale):
    x = np.array([-1.0, 0.25, 0.5, 1.0, np.nan])
    X = np.column_stack([x * size, x])
    Z = encode(pl.DataFrame(X, schema=["a", "b"]), scale=scale)
    np.testing.assert_allclose(Z["a"], Z["b"], rtol=1e-12)


def test_values_far_from_what_was_fitted_are_finite():
    frame = pl.DataFrame({"a": [1e-200, 2e-200, 4e-200, 1e300], "b": [0.5, 0.7, 0.1, -1e308]})
    Z = encode(frame, rows=[0, 1, 2])
    assert np.isfinite(Z["a"]).all()
    assert np.isfinite(np.square(Z["b"])).all()


def test_a_column_that_is_constant_among_the_fitted_rows_is_zero():
    frame = pl.DataFrame({"a": [0.1] * 30 + [7.0] * 10, "b": np.arange(40) / 3})
    for scale in ("standard", "minmax"):
        assert not encode(frame, rows=np.arange(30), scale=scale)["a"].any()


def test_scale_none_leaves_numbers_alone():
    Z = encode(FRAME.select("size", "gaps"), scale=None)
    np.testing.assert_array_equal(Z["size"], FRAME["size"].to_numpy())
    gaps = FRAME["gaps"]
    np.testing.assert_array_equal(Z["gaps"], gaps.fill_null(gaps.median()).to_numpy())
    np.testing.assert_array_equal(Z["gaps missing"], gaps.is_null().to_numpy())


def test_missing_numbers():
    few = pl.DataFrame({"a": [None, *np.arange(199) / 3], "b": RNG.normal(size=200)})
    assert list(encode(few)) == ["a", "b"]  # less than 1 %: no mark
    assert list(encode(few.head(100))) == ["a", "b", "a missing"]
    kept = encode(few, missing="keep")
    assert np.isnan(kept["a"]).tolist() == [True] + [False] * 199
    assert abs(np.nanmean(kept["a"])) < 1e-12
    np.testing.assert_allclose(np.nanstd(kept["a"]), 1)
    late = encode(few.reverse(), rows=np.arange(150))  # nothing was missing in fit: the median all the same
    expected = encode(few.reverse(), rows=np.arange(150), scale=None)
    assert expected["a"][-1] == np.median(few["a"].reverse().to_numpy()[:150])
    assert np.isfinite(late["a"]).all()


def test_a_column_that_is_missing_in_all_fitted_rows():
    frame = pl.DataFrame(
        {"a": [None] * 10 + [1.5, 2.5] * 10, "c": [None] * 10 + ["u", "v"] * 10, "x": range(3, 33)}
    )
    for missing in ("impute", "keep"):
        Z = encode(frame, rows=np.arange(10), missing=missing)
        assert not Z["a"][10:].any()
        assert not any(name.startswith("c=") for name in Z)
        assert (
            encode(frame.select("c", "x").with_columns(x=pl.lit("k")), rows=np.arange(10), missing=missing)
            == {}
        )


# --- dates ---------------------------------------------------------------------------------------------------


def test_dates():
    moments = [dt.datetime(2020, 1, 6) + dt.timedelta(days=31 * k, hours=6 * (k % 4)) for k in range(24)]
    Z = encode(pl.DataFrame({"at": moments, "x": RNG.normal(size=24)}), scale=None)
    assert Z["at"][:2].tolist() == [0.0, 31.25]
    angles = {
        "month": [(m.month - 1) / 12 for m in moments],
        "weekday": [m.weekday() / 7 for m in moments],
        "hour": [m.hour / 24 for m in moments],
    }
    for part, turned in angles.items():
        np.testing.assert_allclose(Z[f"at {part} sin"], np.sin(2 * np.pi * np.array(turned)), atol=1e-9)
        np.testing.assert_allclose(Z[f"at {part} cos"], np.cos(2 * np.pi * np.array(turned)), atol=1e-9)


def test_parts_of_dates_that_do_not_vary_are_left_out():
    weeks = [dt.date(1969, 11, 3) + dt.timedelta(days=7 * k) for k in range(4)]
    assert list(encode(pl.DataFrame({"at": weeks, "x": [1.5, 2.5, 0.5, 3.0]}))) == ["at", "x"]
    months = [dt.date(1969, 11, 3) + dt.timedelta(days=7 * k) for k in range(9)]
    names = list(encode(pl.DataFrame({"at": months, "x": RNG.normal(size=9)})))
    assert names == ["at", "x", "at month sin", "at month cos"]


def test_missing_dates():
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=17 * k) for k in range(30)]
    frame = pl.DataFrame({"at": [None, *days[1:]], "x": RNG.normal(size=30)})
    Z = encode(frame)
    assert (Z["at missing"][0], Z["at month sin"][0], Z["at month cos"][0]) == (1, 0, 0)
    assert np.isnan(encode(frame, missing="keep")["at month sin"][0])
    small = encode(frame, scale="minmax")
    assert all(column.min() >= 0 and column.max() <= 1 for column in small.values())


# --- categories ----------------------------------------------------------------------------------------------


def test_onehot():
    Z = encode(FRAME.select("colour", "ripe"))
    assert list(Z) == ["colour=blue", "colour=green", "colour=red", "colour=missing", "ripe=true"]
    np.testing.assert_array_equal(Z["colour=red"], (FRAME["colour"] == "red").fill_null(False).to_numpy())
    np.testing.assert_array_equal(Z["colour=missing"], FRAME["colour"].is_null().to_numpy())
    np.testing.assert_array_equal(Z["ripe=true"], FRAME["ripe"].to_numpy())


def test_codes():
    frame = FRAME.select("colour", "ripe")
    Z = encode(frame, categories="codes")
    assert list(Z) == ["colour", "ripe"]
    assert Z["colour"][:4].tolist() == [2, 1, 0, 3]
    kept = encode(frame, categories="codes", missing="keep")
    np.testing.assert_array_equal(kept["colour"][:4], [2, 1, 0, np.nan])


def test_few_missing_categories_become_the_most_frequent():
    frame = pl.DataFrame({"a": ["u"] * 150 + ["v"] * 90 + ["w"] * 60 + [None], "x": RNG.normal(size=301)})
    Z = encode(frame)
    assert list(Z) == ["x", "a=u", "a=v", "a=w"]
    assert Z["a=u"][-1] == 1


def test_rare_categories_are_other():
    values = [f"c{k}" for k in range(10) for _ in range(k + 2)]
    frame = pl.DataFrame({"a": values, "x": RNG.normal(size=len(values))})
    Z = encode(frame, max_categories=3)
    assert list(Z) == ["x", "a=c7", "a=c8", "a=c9", "a=other"]
    assert Z["a=other"].sum() == sum(k + 2 for k in range(7))
    codes = encode(frame, max_categories=3, categories="codes")["a"]
    assert sorted(set(codes)) == [0, 1, 2, 3]


def test_categories_that_the_fitted_rows_do_not_have():
    frame = pl.DataFrame({"a": ["u", "v", "w", "u"] * 10 + ["z"] * 2, "x": RNG.normal(size=42)})
    Z = encode(frame, rows=np.arange(40))
    assert list(Z) == ["x", "a=u", "a=v", "a=w"]
    assert (Z["a=u"][-1], Z["a=v"][-1], Z["a=w"][-1]) == (0, 0, 0)
    other = encode(frame, rows=np.arange(40), max_categories=1)
    assert (other["a=other"][-1], "a=u" in other) == (1, False)


@pytest.mark.parametrize("sparse_out", [False, True])
def test_unknown_categories(sparse_out):
    frame = pl.DataFrame(
        {
            "two": ["p", "q"] * 15,
            "three": ["u", "u", "v", "w", "w"] * 6,
            "gaps": ["g", "h", "i", None, "i"] * 6,
        }
    )
    schema = infer_schema(frame)
    new = pl.DataFrame({"two": ["r", "q", None], "three": ["z", "w", None], "gaps": ["z", "h", None]})

    def features(**options):
        encoder = TableEncoder(schema, sparse=sparse_out, **options).fit(schema.to_records(frame))
        Z = dense(encoder.transform(schema.to_records(new)))
        return {n: z.tolist() for n, z in zip(encoder.get_feature_names_out(), Z.T, strict=True)}

    # As good as half of each of two; none of three; and a gap is what is most frequent, or a category of its own.
    assert features() == {
        "two=q": [0.5, 1, 0],
        "three=u": [0, 0, 1], "three=v": [0, 0, 0], "three=w": [0, 1, 0],
        "gaps=g": [0, 0, 0], "gaps=h": [0, 1, 0], "gaps=i": [0, 0, 0], "gaps=missing": [0, 0, 1],
    }  # fmt: skip
    assert features(redundant=False) == {
        "two=q": [0.5, 1, 0],
        "three=v": [1 / 3, 0, 0], "three=w": [1 / 3, 1, 0],
        "gaps=h": [0.25, 1, 0], "gaps=i": [0.25, 0, 0], "gaps=missing": [0.25, 0, 1],
    }  # fmt: skip
    assert features(categories="codes") == {"two": [2, 1, 0], "three": [3, 2, 0], "gaps": [4, 1, 3]}
    kept = features(categories="codes", missing="keep")
    np.testing.assert_array_equal([*kept.values()], [[np.nan, code, np.nan] for code in (1, 2, 1)])
    assert features(max_categories=1)["three=other"] == [1, 1, 0]


def test_features_without_redundancy_have_full_rank():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.choice(list("abcd"), 200).tolist() for name in "pqr"})
    full = TableEncoder().fit_transform(frame)
    lean = TableEncoder(redundant=False).fit_transform(frame)
    assert (full.shape[1], lean.shape[1]) == (12, 9)
    centred = lean - lean.mean(axis=0)
    assert np.linalg.matrix_rank(centred) == np.linalg.matrix_rank(full - full.mean(axis=0)) == 9


def test_a_forged_encoder_is_refused():
    encoder = TableEncoder(SCHEMA).fit(RECORDS)
    encoder.learned_[1]["slots"][0][2] = 9
    with pytest.raises(ValueError, match="do not fit together"):
        encoder.transform(RECORDS)


def test_thousands_of_categories_are_sparse():
    values = [f"v{k % 900}" for k in range(2700)]
    frame = pl.DataFrame(
        {"a": values, "b": values[::-1], "c": values[100:] + values[:100], "x": np.arange(2700) / 7}
    )
    records = infer_schema(frame).to_records(frame)
    encoder = TableEncoder(max_categories=1000).fit(records)
    Z = encoder.transform(records)
    assert isinstance(Z, sparse.csr_array)
    assert Z.shape == (2700, 2701)
    full = TableEncoder(max_categories=1000, sparse=False).fit_transform(records)
    np.testing.assert_array_equal(Z.toarray(), full)
    assert isinstance(TableEncoder().fit_transform(records), np.ndarray)


# --- texts and sparse blocks ---------------------------------------------------------------------------------


def test_texts_agree_with_scikit_learn():
    texts = FRAME["remark"].to_list()
    ours = encode(FRAME.select("remark", "size"), text_features=500)
    # All words that are in two rows or more; single characters and numbers count as words.
    peer = TfidfVectorizer(min_df=2, token_pattern=r"[^\W_]+")
    expected = peer.fit_transform(texts).toarray()
    names = [f"remark:{word}" for word in peer.get_feature_names_out()]
    assert [name for name in ours if name.startswith("remark:")] == names
    np.testing.assert_allclose(np.column_stack([ours[name] for name in names]), expected, rtol=1e-12)


def test_the_most_frequent_words():
    Z = encode(FRAME.select("remark", "size"), text_features=3)
    assert list(Z) == ["size", "remark:about", "remark:fruit", "remark:number"]


def test_chinese_texts_are_pairs_of_characters():
    texts = [f"今天天气{'很好' if k % 2 else '不好'}，适合{k}个人出门" for k in range(20)]
    names = list(encode(pl.DataFrame({"评论": texts, "x": RNG.normal(size=20)})))
    assert {"评论:今天", "评论:天天", "评论:天气", "评论:很好", "评论:不好"} <= set(names)


def test_texts_without_a_known_word_are_zero():
    encoder = TableEncoder(SCHEMA).fit(RECORDS)
    frame = FRAME.with_columns(pl.Series("remark", ["entirely unknown vocabulary", None, "", "!?"] * 20))
    Z = encoder.transform(frame)
    assert not Z[:, encoder.source_ == 5].nnz
    nothing = encoder.transform(FRAME.with_columns(pl.lit(None).alias("remark")))
    assert not nothing[:, encoder.source_ == 5].nnz


def test_sparse_blocks_are_divided_by_their_largest_values():
    block = sparse.random_array((30, 50), density=0.1, rng=0, format="csr") * -8.0
    table = Table(
        pl.DataFrame({"a": RNG.normal(size=30)}), sparse=block, sparse_names=tuple(f"w{j}" for j in range(50))
    )
    encoder = TableEncoder().fit(table)
    Z = encoder.transform(table)
    assert isinstance(Z, sparse.csr_array)
    largest = np.abs(block.toarray()).max(axis=0)
    expected = np.divide(block.toarray(), largest, where=largest > 0, out=np.zeros((30, 50)))
    np.testing.assert_allclose(Z.toarray()[:, 1:], expected, rtol=1e-15)
    assert encoder.source_.tolist() == list(range(51))
    assert encoder.get_feature_names_out()[:2].tolist() == ["a", "w0"]
    same = TableEncoder(scale=None, sparse=False).fit_transform(table)
    np.testing.assert_array_equal(same[:, 1:], block.toarray())
    array = TableEncoder().fit(block)
    np.testing.assert_allclose(array.transform(block).toarray(), expected, rtol=1e-15)
    assert array.get_feature_names_out()[0] == "f0"
