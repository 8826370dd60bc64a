"""Bugs that were once here, to be put back one at a time: a fuzzer is judged by what it finds."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A bug: in `file` below src/tercet, `old` is replaced by `new`; `estimators` are those whose code it is in."""

    name: str
    file: str
    old: str
    new: str
    estimators: tuple[str, ...]


MUTANTS = [
    Mutant(
        "entries of a sparse matrix that come in parts are not added up",
        "core/validation.py",
        "if sparse.issparse(X) and not X.has_canonical_format:",
        "if False:",
        ("BernoulliNB", "DecisionTreeClassifier", "KNeighborsClassifier"),
    ),
    Mutant(
        "a target that is None is learned as NaN",
        "core/validation.py",
        "            _refuse_missing_targets(found[1])\n",
        "            pass\n",
        ("LinearRegression", "Ridge", "KNeighborsRegressor"),
    ),
    Mutant(
        "labels of eight bits overflow",
        "core/estimator.py",
        'wide = y if y.dtype.kind == "u" else y.astype(np.int64, copy=False)',
        "wide = y",
        ("GaussianNB", "LinearDiscriminantAnalysis", "Perceptron"),
    ),
    Mutant(
        "indices of a sparse matrix may lead out of it",
        "core/validation.py",
        "    if not sparse.issparse(X):\n        if isinstance(X, RowSource):",
        "    if True:\n        if isinstance(X, RowSource):",
        ("Lasso", "BernoulliNB", "KMeans"),
    ),
    Mutant(
        "class_weight='balanced' counts rows that have weights",
        "core/estimator.py",
        "weight if weighed else None, n)",
        "None, n)",
        ("KernelLogisticRegression", "LSSVC"),
    ),
    Mutant(
        "a row of weight 0 stretches the range of a polynomial",
        "linear_model/least_squares/polynomial_regression.py",
        "here = X[weight > 0] if weight.any() else X",
        "here = X",
        ("PolynomialRegression",),
    ),
    Mutant(
        "the sum over chunks begins with the chunks that are done first",
        "core/parallel.py",
        "            for k in range(len(items)):\n",
        "            for k in reversed(range(len(items))):\n",
        ("GaussianNB", "LinearRegression", "QuadraticDiscriminantAnalysis"),
    ),
    Mutant(
        "a fit begins where the last one ended",
        "linear_model/generalized/base.py",
        'if self.warm_start and hasattr(self, "coef_"):',
        'if hasattr(self, "coef_"):',
        ("GammaRegressor", "PoissonRegressor", "TweedieRegressor", "GeneralizedLinearRegressor"),
    ),
    Mutant(
        "a model whose numbers overflowed is kept",
        "core/estimator.py",
        '            if are_numbers(learned.get(name), infinite=name == "intercept_"):',
        "            if name:",
        ("QuadraticDiscriminantAnalysis", "Ridge", "LinearDiscriminantAnalysis"),
    ),
    Mutant(
        "a prediction depends on the rows that are asked about with it",
        "core/row_products.py",
        "    dtype = np.result_type(X, W)\n",
        "    return X @ W.T\n    dtype = np.result_type(X, W)\n",
        ("LogisticRegression", "Ridge", "Perceptron"),
    ),
    Mutant(
        "rows that may only be read are written to",
        "linear_model/least_squares/polynomial_regression.py",
        "        X = X.astype(np.float64)\n        weight",
        "        X = X.astype(np.float64, copy=False)\n        X -= 0.0 * X.mean(axis=0) - 1e-9\n        weight",
        ("PolynomialRegression",),
    ),
    Mutant(
        "the weights of the fourth moments are left out",
        "discriminant_analysis/covariance.py",
        "if weight is None else weight @ length**2",
        "if weight is None else (length**2).sum()",
        ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    ),
    Mutant(
        "a fold that weighs nothing is divided by its weight",
        "core/folds.py",
        "if not rows.size or (weight is not None and not weight[rows].any()):",
        "if not rows.size:",
        ("LassoCV", "ElasticNetCV"),
    ),
    Mutant(
        "Manhattan distances of sparse rows need indices of 32 bits",
        "neighbors/_engine/search.py",
        "*map(narrow_indices, (Q, X)), metric=name",
        "Q, X, metric=name",
        ("KNeighborsRegressor", "NearestNeighbors", "KNeighborsTransformer"),
    ),
    Mutant(
        "the leaves of boosted trees leave the weights out",
        "ensemble/boosting/gradient_boosting.py",
        "loss.leaf_values(rows, y, before, r, weight, k)",
        "loss.leaf_values(rows, y, before, r, np.ones_like(weight), k)",
        ("GradientBoostingClassifier", "GradientBoostingRegressor"),
    ),
    Mutant(
        "the rows of a tree depend on where the forest lies in memory",
        "ensemble/forest/base.py",
        "random = np.random.default_rng([seed, 1])",
        "random = np.random.default_rng([seed, id(self) % 1009])",
        ("RandomForestClassifier", "RandomForestRegressor"),
    ),
]
