"""Li, chapter 17: latent semantic analysis (潜在语义分析)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.datasets.texts import Example

# Fig. 17.1: rows are words, columns documents.
WORDS = ["airplane", "aircraft", "computer", "apple", "fruit", "produce"]
FIGURE = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 2, 3], [0, 0, 0, 1], [1, 2, 2, 1]]
DOCUMENTS = [
    "airplane airplane produce",
    "aircraft aircraft produce produce",
    "computer apple apple produce produce",
    "apple apple apple fruit produce",
]
# Section 17.2.2.
TITLE_WORDS = [
    "book",
    "dads",
    "dummies",
    "estate",
    "guide",
    "investing",
    "market",
    "real",
    "rich",
    "stock",
    "value",
]
TITLES = [
    [0, 0, 1, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 1, 0, 0, 1],
    [0, 1, 0, 0, 0, 0, 0, 1, 0],
    [0, 0, 0, 0, 0, 0, 1, 0, 1],
    [1, 0, 0, 0, 0, 1, 0, 0, 0],
    [1, 1, 1, 1, 1, 1, 1, 1, 1],
    [1, 0, 1, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 1, 0, 1],
    [0, 0, 0, 0, 0, 2, 0, 0, 1],
    [1, 0, 1, 0, 0, 0, 0, 1, 0],
    [0, 0, 0, 1, 1, 0, 0, 0, 0],
]
U = [
    [0.1528, -0.2660, 0.0445],
    [0.2375, 0.3783, -0.0860],
    [0.1303, -0.1743, 0.0690],
    [0.1844, 0.1939, 0.4457],
    [0.2161, 0.0873, -0.4601],
    [0.7401, -0.2111, 0.2108],
    [0.1769, -0.2979, -0.2832],
    [0.1844, 0.1939, 0.4457],
    [0.3631, 0.5885, -0.3412],
    [0.2502, -0.4156, -0.2844],
    [0.1229, -0.1432, 0.2345],
]
VT = [
    [0.3538, 0.2226, 0.3376, 0.2599, 0.2208, 0.4911, 0.2836, 0.2866, 0.4373],
    [-0.3209, -0.1477, -0.4563, -0.2378, -0.1358, 0.5486, 0.0677, -0.3070, 0.4383],
    [-0.4091, 0.1401, -0.1564, 0.2453, 0.2230, -0.5097, 0.5519, -0.0023, 0.3380],
]
Y = [
    [1.3833, 0.8704, 1.3200, 1.0159, 0.8630, 1.9198, 1.1089, 1.1206, 1.7094],
    [-0.8374, -0.3854, -1.1907, -0.6204, -0.3543, 1.4315, 0.1767, -0.8010, 1.1436],
    [-0.8169, 0.2798, -0.3123, 0.4897, 0.4452, -1.0177, 1.1021, -0.0046, 0.6750],
]


def word_document_matrix(documents: Any, words: Any) -> dict[str, Any]:
    from tercet.feature import CountVectorizer, cosine_similarity, inner_product_similarity

    model = CountVectorizer(vocabulary=words)
    X = model.fit_transform(documents)
    cosines = cosine_similarity(X)
    return {
        "X": X.toarray().T,
        "vocabulary": model.get_feature_names_out().tolist(),
        "inner products": inner_product_similarity(X),
        "cosine of d1, d2": cosines[0, 1],
        "cosine of d3, d4": cosines[2, 3],
    }


def weights(X: Any) -> dict[str, Any]:
    from tercet.feature import TfidfTransformer

    model = TfidfTransformer(tf="document", smooth_idf=False, idf_offset=0.0, norm=None)
    found = model.fit_transform(np.transpose(X))
    return {"idf": model.idf_, "weights": found.toarray().T}


def retrieval(documents: Any, query: str) -> dict[str, Any]:
    from tercet.feature import CountVectorizer, VectorSpaceRetrieval

    found = {}
    for similarity in ("inner", "cosine"):
        model = VectorSpaceRetrieval(similarity, vectorizer=CountVectorizer()).fit(documents)
        ranking = model.search([query], n=2)
        found[f"{similarity}: order"] = ranking.indices[0] + 1
        found[f"{similarity}: scores"] = ranking.scores[0]
    return found


def analysis(X: Any, k: int) -> dict[str, Any]:
    from tercet.topic import LSA

    model = LSA(k, random_state=0).fit(np.transpose(X))
    scaled = LSA(k, fold_in="scaled", random_state=0).fit(np.transpose(X))
    signs = np.sign((model.components_.T * U).sum(axis=0))  # singular vectors have any sign; as printed
    return {
        "singular values": model.singular_values_,
        "U": model.components_.T * signs,
        "V'": scaled.documents_.T * signs[:, None],
        "ΣV'": model.documents_.T * signs[:, None],
        "squared error": model.reconstruction_err_**2,
    }


def indexing(X: Any, words: Any, query: str, k: int) -> dict[str, Any]:
    """A query in the space of the topics: documents are found that have none of its words."""
    from tercet.topic import LSA

    q = np.array([[float(word in query.split()) for word in words]])
    model = LSA(k, random_state=0).fit(np.transpose(X))
    found = model.search(q, n=5)
    plain = (q @ np.asarray(X))[0]
    return {
        "documents": found.indices[0] + 1,
        "same words": plain[found.indices[0]],
        "folded in": bool(np.allclose(model.transform(np.transpose(X)), model.documents_)),
    }


def nonnegative(X: Any, k: int) -> dict[str, Any]:
    from tercet.topic import LSA

    model = LSA(k, algorithm="nmf", tol=1e-8, max_iter=5000, random_state=0).fit(np.transpose(X))
    svd = LSA(k, random_state=0).fit(np.transpose(X))
    return {
        "lengths of the topics": np.sqrt((model.components_**2).sum(axis=1)),
        "least entry": float(min(model.components_.min(), model.documents_.min())),
        "error is at least that of the SVD": model.reconstruction_err_ >= svd.reconstruction_err_,
    }


EXAMPLES = [
    Example(
        place="Li Fig 17.1",
        title="word-document matrix, inner products and cosines",
        zh="单词-文本矩阵、内积与余弦",
        given={"documents": DOCUMENTS, "words": WORDS},
        call=word_document_matrix,
        expected={
            "X": FIGURE,
            "vocabulary": WORDS,
            "inner products": [[5.0, 2, 2, 1], [2, 8, 4, 2], [2, 4, 9, 8], [1, 2, 8, 11]],
            "cosine of d1, d2": 0.316228,
            "cosine of d3, d4": 0.804030,
        },
        atol=5e-7,
        note="the text says only that d1 and d2 are not similar, and d3 and d4 somewhat similar",
    ),
    Example(
        place="Li Eq 17.2",
        title="tf-idf weights of Fig. 17.1",
        zh="图 17.1 的单词频率-逆文本频率",
        given={"X": FIGURE},
        call=weights,
        expected={
            "idf": [1.3862943611, 1.3862943611, 1.3862943611, 0.6931471806, 1.3862943611, 0.0],
            "weights": [
                [0.9241962407, 0, 0, 0],
                [0, 0.6931471806, 0, 0],
                [0, 0, 0.2772588722, 0],
                [0, 0, 0.2772588722, 0.4158883083],
                [0, 0, 0, 0.2772588722],
                [0, 0, 0, 0],
            ],
        },
        note="the formula is a lost image; a word of every document has the weight 0",
    ),
    Example(
        place="Li Section 17.1.1",
        title="retrieval in the word vector space",
        zh="单词向量空间中的检索",
        given={"documents": DOCUMENTS, "query": "apple produce"},
        call=retrieval,
        expected={
            "inner: order": [3, 4],
            "inner: scores": [4.0, 4.0],
            "cosine: order": [3, 4],
            "cosine: scores": [4 / np.sqrt(18), 4 / np.sqrt(22)],
        },
        note="derived",
    ),
    Example(
        place="Li Section 17.2.2",
        title="latent semantic analysis by truncated SVD, k = 3",
        zh="截断奇异值分解的潜在语义分析，k = 3",
        given={"X": TITLES, "k": 3},
        call=analysis,
        expected={
            "singular values": [3.909418, 2.609119, 1.996828],
            "U": U,
            "V'": VT,
            "ΣV'": Y,
            "squared error": 6.921628,
        },
        atol=6e-5,
        note="Σ is damaged in print, and ΣV' a lost image; U and V' agree with the printed digits",
    ),
    Example(
        place="Li Section 17.2",
        title="latent semantic indexing: a query of one word",
        zh="潜在语义索引：一个单词的查询",
        given={"X": TITLES, "words": TITLE_WORDS, "query": "stock", "k": 3},
        call=indexing,
        expected={"documents": [1, 3, 8, 2, 4], "same words": [1.0, 1, 1, 0, 0], "folded in": True},
        note="derived; documents without the word are found by their topic",
    ),
    Example(
        place="Li Section 17.3.2",
        title="latent semantic analysis by NMF",
        zh="非负矩阵分解的潜在语义分析",
        given={"X": TITLES, "k": 3},
        call=nonnegative,
        expected={
            "lengths of the topics": [1.0, 1.0, 1.0],
            "least entry": 0.0,
            "error is at least that of the SVD": True,
        },
        note="derived: factors are not unique",
    ),
]
