"""Text 001, chapter 3: feature engineering (特征工程)."""

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


EXAMPLES = [
    Example(
        place="001 Section 3.2",
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
]
