"""Machine Learning in Depth, chapter 3: feature engineering (特征工程)."""

from __future__ import annotations

from typing import Any

from tercet.datasets.texts import Example


def tfidf(documents: Any) -> dict[str, Any]:
    from tercet.feature import CountVectorizer, TfidfTransformer

    counter = CountVectorizer(analyzer="tokens")
    counts = counter.fit_transform(documents)
    found: dict[str, Any] = {"vocabulary": counter.get_feature_names_out().tolist()}
    for tf in ("document", "corpus"):
        model = TfidfTransformer(tf=tf, smooth_idf=False, idf_offset=0.0, norm=None)
        found[f"tf of the {tf}"] = model.fit_transform(counts).toarray()
    return found


def discretization(ages: Any, bought: Any) -> dict[str, Any]:
    import numpy as np

    from tercet.feature import KBinsDiscretizer

    X = np.array(ages, dtype=float)[:, None]
    ways: dict[str, dict[str, Any]] = {
        "equal width": {"n_bins": 3, "strategy": "uniform"},
        "equal frequency": {"n_bins": 3, "strategy": "quantile"},
        "given edges": {"edges": [0, 18, 60, 120]},
        "description length": {"strategy": "mdl"},
        "ChiMerge": {"strategy": "chimerge"},
    }
    return {
        name: KBinsDiscretizer(encode="ordinal", **options).fit(X, bought).bin_edges_[0]
        for name, options in ways.items()
    }


def categories(genders: Any, bought: Any) -> dict[str, Any]:
    from tercet.feature import CountEncoder, DummyEncoder, OrdinalEncoder, TargetEncoder

    X = [[gender] for gender in genders]
    dummy = DummyEncoder(reference=None, sparse_output=False).fit(X)
    return {
        "levels": dummy.get_feature_names_out(["gender"]).tolist(),
        "dummy variables": dummy.transform(X),
        "codes": OrdinalEncoder().fit_transform(X).ravel(),
        "counts": CountEncoder().fit_transform(X).ravel(),
        "shares of buyers": TargetEncoder(smooth=0.0).fit(X, bought).transform(X).ravel(),
    }


def buckets(words: Any) -> dict[str, Any]:
    from tercet.feature import FeatureHasher, HashBucketEncoder

    found = HashBucketEncoder(10).fit_transform([[word] for word in words]).ravel()
    again = FeatureHasher(10, input_type="string").transform([[word] for word in words])
    return {"buckets": found, "columns of the feature hasher": again.indices}


def combinations(ages: Any, rich: Any, bought: Any) -> dict[str, Any]:
    from tercet.feature import FeatureCross, TreeLeafEncoder
    from tercet.tree import DecisionTreeClassifier

    X = list(zip(ages, rich))
    leaves = TreeLeafEncoder(DecisionTreeClassifier(random_state=0), encode="onehot-dense").fit(X, bought)
    young = [["young" if age < 30 else "old", "rich" if has else "poor"] for age, has in X]
    crosses = FeatureCross(encode="onehot-dense").fit(young)
    return {
        "paths": leaves.get_feature_names_out(["age", "rich"]).tolist(),
        "leaves": leaves.transform(X),
        "pairs": crosses.get_feature_names_out(["age", "money"]).tolist(),
    }


EXAMPLES = [
    Example(
        place="Machine Learning in Depth Section 3.2",
        title="tf-idf with both term frequencies",
        zh="两种词频的 TF-IDF",
        given={"documents": [["a", "b", "a"], ["b", "c"], ["a", "c", "c", "c"]]},
        call=tfidf,
        expected={
            "vocabulary": ["a", "b", "c"],
            "tf of the document": [
                [0.2703100721, 0.1351550360, 0],
                [0, 0.2027325541, 0.2027325541],
                [0.1013662770, 0, 0.3040988311],
            ],
            "tf of the corpus": [
                [0.2703100721, 0.2027325541, 0],
                [0, 0.2027325541, 0.1013662770],
                [0.1351550360, 0, 0.3040988311],
            ],
        },
        note="derived; the text divides a count by that of all documents, others by the length of the document",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3.1",
        title="ages cut into intervals",
        zh="年龄的离散化",
        given={
            "ages": [5, 12, 17, 20, 24, 29, 33, 41, 50, 65, 70, 85],
            "bought": [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        },
        call=discretization,
        expected={
            "equal width": [5.0, 31.6666666667, 58.3333333333, 85.0],
            "equal frequency": [5.0, 22.0, 45.5, 85.0],
            "given edges": [0.0, 18.0, 60.0, 120.0],
            "description length": [5.0, 18.5, 85.0],
            "ChiMerge": [5.0, 18.5, 85.0],
        },
        note="derived; equal width, equal frequency and given edges are of the text, the others of the literature",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3.2",
        title="a gender that is not filled in is a level",
        zh="未填写的性别是一个类别",
        given={"genders": ["f", "m", None, "m", None, "f", "m"], "bought": [1, 0, 1, 0, 0, 1, 1]},
        call=categories,
        expected={
            "levels": ["gender_f", "gender_m", "gender_missing"],
            "dummy variables": [
                [1, 0, 0],
                [0, 1, 0],
                [0, 0, 1],
                [0, 1, 0],
                [0, 0, 1],
                [1, 0, 0],
                [0, 1, 0],
            ],
            "codes": [0, 1, 2, 1, 2, 0, 1],
            "counts": [2, 3, 2, 3, 2, 2, 3],
            "shares of buyers": [1, 1 / 3, 0.5, 1 / 3, 0.5, 1, 1 / 3],
        },
        note="derived",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3.1",
        title="hash buckets",
        zh="Hash 分桶",
        given={"words": ["dog", "cat", "elephant", "run"]},
        call=buckets,
        expected={"buckets": [3, 9, 2, 4], "columns of the feature hasher": [3, 9, 2, 4]},
        note="derived; MurmurHash3 with the seed 0",
    ),
    Example(
        place="Machine Learning in Depth Section 3.2.3.6",
        title="a path of a tree is a combination feature",
        zh="一条组合路径就是一个组合特征",
        given={
            "ages": [21, 20, 22, 45, 48, 50],
            "rich": [0, 1, 1, 1, 0, 1],
            "bought": [0, 1, 1, 0, 0, 0],
        },
        call=combinations,
        expected={
            "paths": [
                "tree0: age > 33.5",
                "tree0: age <= 33.5 and rich <= 0.5",
                "tree0: age <= 33.5 and rich > 0.5",
            ],
            "leaves": [[0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]],
            "pairs": [
                "age=old & money=poor",
                "age=old & money=rich",
                "age=young & money=poor",
                "age=young & money=rich",
            ],
        },
        note="derived",
    ),
]
