"""Machine Learning in Depth, chapter 3: cleaning and transformation of columns (数据清洗与特征处理)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example

NAN = float("nan")


def cleaning(X: Any, y: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.feature import ContradictionFilter, MissingFilter, RangeCleaner, RuleFilter

    table, labels = np.array(X), np.array(y)
    ranges = {0: (0.3, 2.5)}
    contradictory = ContradictionFilter("report")
    contradictory.fit_resample(table, labels)
    impossible, gappy = RuleFilter(ranges), MissingFilter(0.5)
    impossible.fit_resample(table, labels)
    gappy.fit_resample(table, labels)
    return {
        "heights": RangeCleaner(ranges).fit_transform(table)[:, 0],
        "possible": impossible.sample_indices_,
        "known enough": gappy.sample_indices_,
        "contradictory": [rows.tolist() for rows in contradictory.contradictions_],
    }


def outliers(x: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.feature import OutlierCleaner

    column = np.array(x)[:, None]
    models = {rule: OutlierCleaner(rule, threshold=2.0).fit(column) for rule in ("iqr", "zscore", "mad")}
    return {rule: [model.lower_[0], model.upper_[0]] for rule, model in models.items()}


def missing(X: Any, group: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer

    from tercet.feature import GroupImputer

    table = np.array(X)
    gone = np.isnan(table)
    by_group = GroupImputer(by=0).fit_transform(np.column_stack([group, table]))
    return {
        "mean": SimpleImputer().fit_transform(table)[gone],
        "median": SimpleImputer(strategy="median").fit_transform(table)[gone],
        "by group": by_group[:, 1:][gone],
        "nearest": KNNImputer(n_neighbors=2).fit_transform(table)[gone],
        "regression": IterativeImputer(random_state=0, tol=1e-6, max_iter=50).fit_transform(table)[gone],
        "where": MissingIndicator().fit_transform(table)[:, 0],
    }


def scaling(x: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    column = np.array(x)[:, None]
    scalers: dict[str, Any] = {
        "[0, 1]": MinMaxScaler(),
        "[-1, 1]": MinMaxScaler((-1, 1)),
        "z": StandardScaler(),
        "max |x|": MaxAbsScaler(),
        "median, Q3 - Q1": RobustScaler(),
    }
    return {name: scaler.fit_transform(column).ravel() for name, scaler in scalers.items()}


def logarithms(x: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.preprocessing import PowerTransformer

    from tercet.feature import LogTransformer

    column = np.array(x)[:, None]
    power = PowerTransformer("box-cox").fit(column)
    return {
        "log10 x": LogTransformer("10", offset=0.0).fit_transform(column).ravel(),
        "ln(1 + x)": LogTransformer().fit_transform(column).ravel(),
        "λ": power.lambdas_,
    }


def statistics(X: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.feature import GroupStatistics, RowStatistics

    table = np.array(X)
    names = ("max", "min", "mean", "std")
    return {
        "all rows": GroupStatistics(columns=[1], statistics=names).fit_transform(table)[0],
        "groups": GroupStatistics(by=0, statistics=names).fit_transform(table)[[0, 3]],
        "within a row": RowStatistics(names).fit_transform(table)[0],
    }


def one_hot(x: Any, ask: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(np.array(x)[:, None])
    return {word: encoder.transform([[word]])[0] for word in ask}


def dates(x: Any, holidays: Any, reference: str) -> dict[str, Any]:
    import numpy as np

    from tercet.feature import DateTimeFeatures

    names = ("elapsed", "part_of_day", "weekday", "month", "is_weekend", "is_holiday")
    model = DateTimeFeatures(names, holidays=holidays, reference=reference)
    return dict(zip(names, model.fit_transform(np.array(x)[:, None]).T))


def words(documents: Any) -> dict[str, Any]:
    from tercet.feature import CountVectorizer

    bag = CountVectorizer(stop_words=["the", "on"])
    counts = bag.fit_transform(documents).toarray()
    pairs = CountVectorizer(ngram_range=(2, 2)).fit(documents)
    letters = CountVectorizer(analyzer="char", ngram_range=(3, 3)).fit(["cats"])
    return {
        "vocabulary": bag.get_feature_names_out().tolist(),
        "counts": counts,
        "bigrams": pairs.get_feature_names_out().tolist(),
        "trigrams of letters": letters.get_feature_names_out().tolist(),
    }


def workflow(X: Any, y: Any, ask: Any) -> dict[str, Any]:
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    from tercet.feature import RangeCleaner
    from tercet.linear_model import LogisticRegression

    table = np.array(X, dtype=object)
    numbers = Pipeline([("clean", RangeCleaner({0: (0.3, 2.5)})), ("fill", SimpleImputer())])
    columns = ColumnTransformer([("height", numbers, [0]), ("sex", OneHotEncoder(), [1])])
    model = Pipeline([("prepare", columns), ("learn", LogisticRegression(C=1e3))])
    scores = cross_val_score(model, table, y, cv=3)
    return {"accuracy": scores.mean(), "predicted": model.fit(table, y).predict(np.array(ask, dtype=object))}


PEOPLE = [[1.7, 60.0, 30.0], [3.0, 70.0, 40.0], [1.6, NAN, NAN], [1.7, 60.0, 30.0], [1.5, 50.0, NAN]]
SIZES = [[1.50 + 0.02 * (k % 10), "ab"[k % 10 > 4]] for k in range(18)]

EXAMPLES = [
    Example(
        place="Machine Learning in Depth Section 3.2.1",
        title="data cleaning: a height of 3 m, rows of missing values, contradictions",
        zh="数据清洗：3 米的身高、缺失过多的样本、相互矛盾的样本",
        given={"X": PEOPLE, "y": [0, 0, 0, 1, 1]},
        call=cleaning,
        expected={
            "heights": [1.7, NAN, 1.6, 1.7, 1.5],
            "possible": [0, 2, 3, 4],
            "known enough": [0, 1, 3, 4],
            "contradictory": [[0, 3]],
        },
        note="the text has a height of 3 m; the other numbers were chosen",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.1",
        title="limits of outliers",
        zh="异常值的界限",
        given={"x": [1.0, 2.0, 3.0, 4.0, 10.0]},
        call=outliers,
        # quartiles 2 and 4; mean 4 and variance 10; median 3 and median absolute deviation 1
        expected={
            "iqr": [-2.0, 8.0],
            "zscore": [4 - 2 * 10**0.5, 4 + 2 * 10**0.5],
            "mad": [3 - 2 / 0.6744897502, 3 + 2 / 0.6744897502],
        },
        note="derived from the usual definitions, 2 spreads wide",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.1",
        title="missing values filled in",
        zh="缺失值填补",
        given={
            "X": [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [NAN, 8.0], [5.0, 10.0]],
            "group": [0.0, 0.0, 1.0, 1.0, 1.0],
        },
        call=missing,
        expected={
            "mean": [2.75],
            "median": [2.5],
            "by group": [4.0],
            "nearest": [4.0],
            "regression": [4.0],
            "where": [False, False, False, True, False],
        },
        rtol=1e-3,
        note="derived; the second column is twice the first",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3",
        title="scaling",
        zh="幅度调整与归一化",
        given={"x": [-2.0, 0.0, 2.0, 8.0]},
        call=scaling,
        expected={
            "[0, 1]": [0, 0.2, 0.4, 1],
            "[-1, 1]": [-1, -0.6, -0.2, 1],
            "z": [-1.0690449676, -0.5345224838, 0.0, 1.6035674514],
            "max |x|": [-0.25, 0, 0.25, 1],
            "median, Q3 - Q1": [-0.75, -0.25, 0.25, 1.75],
        },
        note="derived; mean 2, variance 14, quartiles -0.5, 1 and 3.5",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3",
        title="logarithms and powers",
        zh="log 变换与幂变换",
        given={"x": [1.0, 10.0, 100.0, 1000.0]},
        call=logarithms,
        expected={
            "log10 x": [0, 1, 2, 3],
            "ln(1 + x)": [0.6931471806, 2.3978952728, 4.6151205168, 6.9087547794],
            "λ": [0.0],
        },
        atol=1e-6,
        note="derived; of equal ratios the logarithm is the best power",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3",
        title="statistics as features",
        zh="统计值作为特征",
        given={"X": [[0.0, 1.0], [0.0, 3.0], [0.0, 8.0], [1.0, 5.0]]},
        call=statistics,
        expected={
            "all rows": [8, 1, 4.25, 2.5860201082],
            "groups": [[8, 1, 4, 2.9439202888], [5, 5, 5, 0]],
            "within a row": [1, 0, 0.5, 0.5],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3",
        title="one-hot encoding",
        zh="One-hot 编码",
        given={"x": ["a", "b", "c", "d", "e"], "ask": ["d", "z"]},
        call=one_hot,
        expected={"d": [0, 0, 0, 1, 0], "z": [0, 0, 0, 0, 0]},
        note="the text's vector; a category that was not seen has zeros",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3",
        title="dates and times as numbers and as categories",
        zh="时间型特征",
        given={
            "x": ["2018-10-01 09:00:00", "2018-10-06 23:30:00"],
            "holidays": ["2018-10-01"],
            "reference": "2018-09-30 21:00:00",
        },
        call=dates,
        expected={
            "elapsed": [0.5, 6.1041666667],
            "part_of_day": [1, 3],
            "weekday": [0, 5],
            "month": [10, 10],
            "is_weekend": [0, 1],
            "is_holiday": [1, 0],
        },
        note="derived; the first is a Monday morning",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3",
        title="bag of words without stop words, and n-grams",
        zh="词袋与 N-gram",
        given={"documents": ["the cat sat on the mat", "the cat saw the cat"]},
        call=words,
        expected={
            "vocabulary": ["cat", "mat", "sat", "saw"],
            "counts": [[1, 1, 1, 0], [2, 0, 0, 1]],
            "bigrams": ["cat sat", "cat saw", "on the", "sat on", "saw the", "the cat", "the mat"],
            "trigrams of letters": ["ats", "cat"],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2",
        title="the course of the work: preprocess, fit, evaluate, predict",
        zh="工作流程：预处理、学习、评估、预测",
        given={
            "X": SIZES,
            "y": [int(kind == "b") for _, kind in SIZES],
            "ask": [[3.0, "a"], [NAN, "b"]],
        },
        call=workflow,
        expected={"accuracy": 1.0, "predicted": [0, 1]},
        note="the numbers were chosen; the category decides",
    ),
]
