"""Random trees as an embedding: one leaf of each tree, as scikit-learn's."""

import numpy as np
from sklearn import ensemble as peer
from sklearn.datasets import make_circles
from sklearn.pipeline import make_pipeline

from tercet.ensemble import RandomTreesEmbedding
from tercet.linear_model import LogisticRegression

X, Y = make_circles(100, noise=0.05, factor=0.4, random_state=0)


def test_one_leaf_of_each_tree():
    model = RandomTreesEmbedding(7, max_depth=3, random_state=0)
    Z = model.fit_transform(X)
    assert (Z.sum(axis=1) == 7).all()
    assert set(np.unique(Z.toarray())) == {0.0, 1.0}
    names = model.get_feature_names_out()
    assert len(names) == Z.shape[1] == sum((member.tree_.n_children == 0).sum() for member in model)
    leaves = model.apply(X)
    for t in range(7):
        one = Z[:, [j for j, name in enumerate(names) if name.startswith(f"randomtreesembedding_{t}_")]]
        ids = np.array([int(name.rsplit("_")[-1]) for name in names if f"_{t}_" in name])
        np.testing.assert_array_equal(ids[one.toarray().argmax(axis=1)], leaves[:, t])
    dense = RandomTreesEmbedding(7, max_depth=3, random_state=0, sparse_output=False).fit(X).transform(X)
    np.testing.assert_array_equal(dense, Z.toarray())


def test_a_linear_model_learns_circles():
    ours, theirs = (
        make_pipeline(kind(20, random_state=0), LogisticRegression()).fit(X, Y).score(X, Y)
        for kind in (RandomTreesEmbedding, peer.RandomTreesEmbedding)
    )
    assert LogisticRegression().fit(X, Y).score(X, Y) < 0.7
    assert ours > 0.95
    assert theirs > 0.95


def test_a_warm_start_adds_trees():
    model = RandomTreesEmbedding(3, warm_start=True, random_state=0).fit(X)
    first = model.estimators_[0]
    model.set_params(n_estimators=5).fit(X)
    assert len(model) == 5
    assert model.estimators_[0] is first
