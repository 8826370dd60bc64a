"""Dictionary learning in one call (字典学习函数)."""

from __future__ import annotations

from typing import Any, Literal

from tercet.core.catalog import method
from tercet.decomposition.dictionary.dictionary_learning import DictionaryLearning
from tercet.decomposition.dictionary.mini_batch_dictionary_learning import MiniBatchDictionaryLearning


@method(
    zh="字典学习（函数）",
    task="sparse coding",
    model="X ≈ AB: rows as combinations of few atoms, the rows of B, with the codes A",
    strategy="|X - AB|²/2 + alpha |A|_1 with atoms of length at most 1",
    algorithms="codes by the lasso and atoms by least squares, by turns; or K-SVD",
    texts=["watermelon notes ch. 10, eq. 10.14-10.17"],
    peers=["sklearn.decomposition.dict_learning"],
)
def dict_learning(
    X: Any,
    n_components: int,
    *,
    alpha: float,
    max_iter: int = 100,
    tol: float = 1e-8,
    method: Literal["lars", "cd", "ksvd", "approximate-ksvd"] = "lars",
    n_jobs: int | None = None,
    dict_init: Any = None,
    code_init: Any = None,
    callback: Any = None,
    verbose: int | bool = False,
    random_state: Any = None,
    return_n_iter: bool = False,
    positive_dict: bool = False,
    positive_code: bool = False,
    method_max_iter: int = 1000,
) -> Any:
    """Codes and dictionary of signals; see `DictionaryLearning`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The signals.
    n_components, alpha, max_iter, tol, n_jobs, dict_init, code_init, callback, verbose, random_state, \
    positive_dict, positive_code
        As in `DictionaryLearning`.
    method : {"lars", "cd", "ksvd", "approximate-ksvd"}, default="lars"
        Its `fit_algorithm`.
    return_n_iter : bool, default=False
        Whether to return the number of passes, too.
    method_max_iter : int, default=1000
        The most steps of the lasso for a row.

    Returns
    -------
    code : array of shape (n_samples, n_components)
    dictionary : array of shape (n_components, n_features)
    errors : list
        The objective after each pass.
    n_iter : int
        When `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0, 2.0], [1.0, 0.0, 1.0], [0.0, 3.0, 0.0], [0.0, -1.0, 0.0]])
    >>> code, dictionary, errors = dict_learning(X, 2, alpha=0.01)
    >>> bool(np.abs(code @ dictionary - X).max() < 0.02)
    True
    """
    model = DictionaryLearning(
        n_components,
        alpha=alpha,
        max_iter=max_iter,
        tol=tol,
        fit_algorithm=method,
        n_jobs=n_jobs,
        dict_init=dict_init,
        code_init=code_init,
        callback=callback,
        verbose=verbose,
        random_state=random_state,
        positive_code=positive_code,
        positive_dict=positive_dict,
        transform_max_iter=method_max_iter,
    ).set_output(transform="default")
    code = model.fit_transform(X)
    found = code, model.components_, model.error_
    return (*found, model.n_iter_) if return_n_iter else found


@method(
    zh="在线字典学习（函数）",
    task="sparse coding",
    model="X ≈ AB: rows as combinations of few atoms, the rows of B, with the codes A",
    strategy="|X - AB|²/2 + alpha |A|_1 with atoms of length at most 1",
    algorithms="codes of a batch by the lasso, then the atoms by sums over the batches so far",
    texts=["watermelon notes ch. 10, eq. 10.14-10.16"],
    peers=["sklearn.decomposition.dict_learning_online"],
)
def dict_learning_online(
    X: Any,
    n_components: int | None = 2,
    *,
    alpha: float = 1,
    max_iter: int = 100,
    return_code: bool = True,
    dict_init: Any = None,
    callback: Any = None,
    batch_size: int = 256,
    verbose: int | bool = False,
    shuffle: bool = True,
    n_jobs: int | None = None,
    method: Literal["lars", "cd"] = "lars",
    random_state: Any = None,
    positive_dict: bool = False,
    positive_code: bool = False,
    method_max_iter: int = 1000,
    tol: float = 1e-3,
    max_no_improvement: int | None = 10,
) -> Any:
    """Codes and dictionary of signals by mini-batches; see `MiniBatchDictionaryLearning`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The signals.
    n_components, alpha, max_iter, dict_init, callback, batch_size, verbose, shuffle, n_jobs, random_state, \
    positive_dict, positive_code, tol, max_no_improvement
        As in `MiniBatchDictionaryLearning`.
    return_code : bool, default=True
        Whether to return the codes, too.
    method : {"lars", "cd"}, default="lars"
        Its `fit_algorithm`.
    method_max_iter : int, default=1000
        The most steps of the lasso for a row.

    Returns
    -------
    code : array of shape (n_samples, n_components)
        When `return_code`: by the lasso.
    dictionary : array of shape (n_components, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0, 2.0], [1.0, 0.0, 1.0], [0.0, 3.0, 0.0], [0.0, -1.0, 0.0]])
    >>> code, dictionary = dict_learning_online(X, 2, alpha=0.01, random_state=0)
    >>> bool(np.abs(code @ dictionary - X).max() < 0.02)
    True
    """
    model = MiniBatchDictionaryLearning(
        n_components,
        alpha=alpha,
        max_iter=max_iter,
        fit_algorithm=method,
        n_jobs=n_jobs,
        batch_size=batch_size,
        shuffle=shuffle,
        dict_init=dict_init,
        transform_algorithm="lasso_lars" if method == "lars" else "lasso_cd",
        transform_alpha=alpha,
        verbose=verbose,
        random_state=random_state,
        positive_code=positive_code,
        positive_dict=positive_dict,
        transform_max_iter=method_max_iter,
        callback=callback,
        tol=tol,
        max_no_improvement=max_no_improvement,
    ).fit(X)
    return (model.transform(X), model.components_) if return_code else model.components_
