"""Histogram boosting of rows that are not in memory.

The rows are binned once into pages, in memory or in temporary files (`core.row_pages`); scores, gradients and the
nodes of the rows are kept beside them. A round goes over the pages about as often as its trees are deep, and does
not read the source again. The model has the bits of a fit in memory for the losses of `LeafwiseRounds` and up to
four million rows; with other losses and more rows it agrees but for rounding.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from tercet.core.estimator import generator
from tercet.core.memory import available
from tercet.core.parallel import each, elsewhere
from tercet.core.row_pages import RowPages
from tercet.core.stopping import check_stop
from tercet.core.strip_sums import strip_parts, total_of
from tercet.ensemble._engine.paged_terms import PagedTerms
from tercet.ensemble.boosting.boosting_losses import BoostingLoss
from tercet.ensemble.boosting.boosting_scores import hold_out_seed
from tercet.ensemble.boosting.leafwise_rounds import KINDS
from tercet.ensemble.boosting.loss_choice import regression_loss
from tercet.ensemble.boosting.round_scores import RoundScores, loss_sums
from tercet.ensemble.boosting.streamed_rows import StreamedRows, held_pages
from tercet.tree import LeafwiseGrower, PagedGrower, Tree

MOST_LEAVES = 1 << 12


def refusal(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source, and what does; "" where they do."""
    if elsewhere():
        return (
            "its binned rows, scores and nodes are changed in every pass, and blocks on the workers of a cluster "
            "cannot be. Use `tercet.engine('stream')` on one machine."
        )
    if model.max_leaf_nodes is None or model.max_leaf_nodes > MOST_LEAVES:
        return f"a tree without a limit needs all rows at once. Use max_leaf_nodes, at most {MOST_LEAVES}."
    if model.monotonic_cst is not None or model.interaction_cst is not None:
        return "constraints need all rows at once. Use monotonic_cst=None and interaction_cst=None."
    if model.subsample < 1.0 or model.sampling == "goss":
        return "rounds of drawn rows need all rows at once. Use subsample=1.0 and sampling='uniform'."
    if not (isinstance(model.scoring, str) and model.scoring == "loss") and model.early_stopping is not False:
        return "scoring of other measures needs all rows at once. Use scoring='loss' or early_stopping=False."
    if isinstance(model.loss, str) and model.loss in ("absolute_error", "quantile"):
        return f"loss={model.loss!r} sorts the rows of each leaf. Use loss='squared_error', 'poisson' or 'gamma'."
    if callable(model.loss) and not isinstance(model, ClassifierMixin):
        loss = regression_loss(model.loss, 0.5)
        if not loss.newton:
            return "this loss sorts the rows of each leaf. Use loss='squared_error'."
    return ""


def fit_streamed(
    model: Any, X: Any, y: Any, weight: Any, held_out: tuple[Any, Any, Any], init_score: tuple[Any, Any]
) -> None:
    """Learn the rounds of a model from streamed arrays."""
    if init_score != (None, None):
        raise ValueError(f"{type(model).__name__}: init_score needs rows in memory, not a source.")
    refuse_many_categories(model, X.stream.features.names)
    loss = model._loss_of()
    rows = StreamedRows(X, y, weight, model.categories_)
    model.n_outputs_, model.n_trees_per_iteration_ = 1, loss.n_scores
    model.is_categorical_ = model._n_categories() > 0 if model._n_categories().any() else None
    trees = model._kept_rounds()
    if not trees:  # added rounds are judged by the rows that judged the first
        model._random_seed = hold_out_seed(model.random_state)
    random = generator(model.random_state)
    given = _hold_out(model, rows, held_out)
    jobs = model._jobs(X)
    edges = rows.edges(model.max_bins, model._n_categories(), int(random.integers(2**31 - 1)), jobs)
    with rows.pages(loss.n_scores) as pages:
        left = max(0, available() // 3 - sum(f.row_bytes for f in pages.fields.values()) * pages.n_rows)
        if given is not None:
            held: Any = held_pages(len(given[1]), X.shape[1], given[0].dtype, loss.n_scores, left)
        else:
            held = rows.held_pages(loss.n_scores, left) if rows.n_held else None
        try:
            fit = PagedFit(model, loss, rows, pages, held, edges, jobs)
            fit.read(trees, given)
            fit.learn(trees, random)
        finally:
            if held is not None:
                held.close()


class PagedFit:
    """One fit: pages of the rows learned from, and of those held out."""

    def __init__(
        self,
        model: Any,
        loss: BoostingLoss,
        rows: StreamedRows,
        pages: RowPages,
        held: Any,
        edges: Any,
        jobs: Any,
    ) -> None:
        self.model, self.loss, self.rows, self.pages, self.held = model, loss, rows, pages, held
        self.edges, self.jobs = edges, jobs

    def read(self, trees: list[Any], given: Any) -> None:
        """Fill the pages, in one pass over the source; the scores are those of the rounds that are kept."""
        model, loss, done, done_held = self.model, self.loss, 0, 0
        self.bins = self.edges.columns()
        whole, most, least = True, 0.0, np.inf
        for train, held in self.rows.walk():
            least = min(least, float(train.y.min(initial=np.inf)), float(held.y.min(initial=np.inf)))
            arrays = {"words": self.edges.encode(train.X), "y": train.y}
            if self.rows.weight is not None:
                arrays["weight"] = train.weight
                whole = whole and bool((train.weight == np.floor(train.weight)).all())
                most = max(most, float(train.weight.max(initial=0.0)))
            if trees:
                arrays["F"] = model._scores_by_round(train.X, trees).T
            self.pages.write(done, **arrays)
            done += len(train.y)
            if len(held.y):
                self._write_held(done_held, held.X, held.y, held.weight, trees)
                done_held += len(held.y)
        if given is not None:
            X_held, y_held, weight_held = given
            self._write_held(0, X_held, y_held, weight_held, trees)
        parts = self._strips(self.pages, lambda page: (page("y"), self._weight(page)), loss.sums)
        model._refuse_targets(least, float(total_of(parts)[0]))
        if not trees:
            model.init_ = loss.start_from(total_of(parts))
            model.train_score_, model.validation_score_ = np.empty(0), np.empty(0)
            for pages in [self.pages, *([] if self.held is None else [self.held])]:
                for page in range(len(pages)):
                    pages.get(page, "F")[:] = model.init_[:, None]
        masses = self._strips(self.pages, lambda page: (self._weight(page),), lambda own: [own.sum()])
        self.mass = float(total_of(masses)[0])
        self._find_copies(whole, most)

    def _find_copies(self, whole: bool, most: float) -> None:
        """Weights as numbers of copies, under the conditions of `LeafwiseGrower.copies_of`."""
        self.weighted, self.most_copies = self.rows.weight is not None, 0
        if not self.weighted:
            return
        ranges = [(float(w.min()), float(w.max())) for w in map(self._weights_of, range(len(self.pages)))]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        self.weighted = not low == high == 1.0
        ends = np.array([low, high])
        if whole and low != high and LeafwiseGrower.copies_of(ends) is not None:
            self.most_copies = int(most) if self.mass <= LeafwiseGrower.most_rows() else 0

    def _weights_of(self, page: int) -> np.ndarray:
        return self.pages.get(page, "weight")

    def _weight(self, page: Any) -> np.ndarray:
        return page("weight") if self.rows.weight is not None else np.ones(len(page("y")))

    def _strips(self, pages: RowPages, arrays: Any, function: Any) -> list[np.ndarray]:
        """`function` of the strips of all pages, in order; `arrays(page)` gives what it takes."""

        def work(k: int) -> list[np.ndarray]:
            check_stop()
            return strip_parts(function, *arrays(functools.partial(pages.get, k)))

        return [part for page in each(work, range(len(pages)), n_jobs=self.jobs) for part in page]

    def _write_held(self, start: int, X: Any, y: Any, weight: Any, trees: list[Any]) -> None:
        arrays = {"X": X.T, "y": y, "weight": weight}
        if trees:
            arrays["F"] = self.model._scores_by_round(X, trees).T
        self.held.write(start, **arrays)

    def learn(self, trees: list[Any], random: np.random.Generator) -> None:
        """The rounds; see `BaseHistGradientBoosting._fit`."""
        model, loss, pages = self.model, self.loss, self.pages
        given = model._grower(self.bins.n_bins.size, self.jobs)
        chosen = {name: given[name] for name in ("limits", "penalty", "min_gain", "n_jobs", "categories")}
        count = int(self.mass) if self.most_copies else 0
        grower = PagedGrower(self.bins, pages, **chosen, most_copies=self.most_copies, count=count)
        kind = KINDS.get(type(loss))
        terms = PagedTerms(loss, kind, pages, self.weighted, self.mass, self.jobs)
        scores = RoundScores(model, loss, self.rows.X, None, None, self.held)
        if not trees:
            scores.add(None, None, None, self._mean_loss(pages), self._held_loss())
        terms.update()
        for step in model.steps(model.max_iter - len(trees), name="round", unpack=model._state):
            trees.append(self._round(grower, terms, random))
            self._add_to_held(trees[-1])
            measures = scores.add(None, None, trees, terms.loss, self._held_loss())
            step.report((trees, len(trees), scores), **measures)
            if model.do_early_stopping_ and scores.stop():
                break
        model.__dict__.update(model._state((trees, len(trees), scores)))
        model.best_iteration_, model.best_score_ = scores.best(len(trees))

    def _round(self, grower: PagedGrower, terms: PagedTerms, random: np.random.Generator) -> list[Tree]:
        """One tree for each score; the scores are moved, and the derivatives taken anew."""
        made, n_scores = [], self.loss.n_scores

        def add(k: int, page: int, F: np.ndarray) -> None:
            grower.add_to(page, F[k])

        def add_page(k: int, page: int) -> None:
            check_stop()
            add(k, page, self.pages.get(page, "F"))

        for k in range(n_scores):
            seed = int(random.integers(2**31 - 1)) if grower.limits.max_features is not None else 0
            arrays = grower.grow(k, terms.totals[k], self.model.learning_rate, seed)
            made.append(Tree.from_arrays(arrays, verify=False))
            if k + 1 < n_scores:
                each(functools.partial(add_page, k), range(len(self.pages)), n_jobs=self.jobs)
        terms.update(functools.partial(add, n_scores - 1))
        return made

    def _add_to_held(self, trees: list[Tree]) -> None:
        if self.held is not None:
            for page in range(len(self.held)):
                check_stop()
                X = np.ascontiguousarray(self.held.get(page, "X").T)
                self.held.get(page, "F")[:] += self.model._sum_of_trees(X, [trees]).T

    def _mean_loss(self, pages: RowPages) -> float:
        """The mean loss of the rows of pages."""

        def arrays(page: Any) -> tuple[Any, ...]:
            weight = page("weight") if "weight" in pages.fields else np.ones(len(page("y")))
            return page("y"), np.ascontiguousarray(page("F").T), weight

        total, mass = total_of(self._strips(pages, arrays, functools.partial(loss_sums, self.loss)))
        return float(total / mass)

    def _held_loss(self) -> float | None:
        return None if self.held is None else self._mean_loss(self.held)


def _hold_out(model: Any, rows: StreamedRows, given: tuple[Any, Any, Any]) -> Any:
    """Choose the rows that decide when to stop; those that were given for it, if any."""
    if model._stops_early(rows.n, *given[:2]):
        X_val, y_val, weight_val = given
        if X_val is not None:
            X_val, y_val = model._check(X_val, y_val, reset=False)
            mass = np.ones(len(y_val)) if weight_val is None else np.asarray(weight_val, dtype=np.float64)
            return model._dense(X_val), np.asarray(model._encode_validation(y_val), dtype=np.float64), mass
        if model.validation_fraction is not None:
            rows.hold_out(model.validation_fraction, model._random_seed, isinstance(model, ClassifierMixin))
    return None


def refuse_many_categories(model: Any, names: Any) -> None:
    """Refuse columns of a source with more categories than bins."""
    counts = model._n_categories()
    if counts.max(initial=0) > model.max_bins:
        j = int(counts.argmax())
        name = repr(j if names is None else names[j])
        raise ValueError(
            f"{type(model).__name__}: column {name} has more categories than max_bins={model.max_bins}; of a "
            "source it must have at most as many. Encode it as numbers."
        )
