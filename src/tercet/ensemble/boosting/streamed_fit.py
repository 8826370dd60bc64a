"""Histogram boosting of rows that are not in memory.

The rows are binned once into pages, in memory, in temporary files (`core.row_pages`) or on the workers of a cluster
(`core.dask_pages`); scores, gradients and the nodes of the rows are kept beside them. A round goes over the pages
about as often as its trees are deep, and does not read the source again. Pages of a worker that is lost are binned
again, and get their scores from the trees that were grown so far. The model has the bits of a fit in memory for the
losses of `LeafwiseRounds` and up to four million rows; with other losses and more rows it agrees but for rounding.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin

from tercet.core.estimator import generator
from tercet.core.row_pages import Field, Page, Pages
from tercet.core.strip_sums import strip_parts, total_of
from tercet.ensemble._engine.paged_terms import PagedTerms
from tercet.ensemble.boosting.boosting_losses import BoostingLoss
from tercet.ensemble.boosting.boosting_scores import hold_out_seed
from tercet.ensemble.boosting.held_out_rows import SPLIT_ROWS, HeldOutRows
from tercet.ensemble.boosting.leafwise_rounds import KINDS
from tercet.ensemble.boosting.loss_choice import regression_loss
from tercet.ensemble.boosting.round_scores import RoundScores, loss_sums
from tercet.ensemble.boosting.tree_sums import EarlierRounds, NewRound
from tercet.tree import BinnedPages, LeafwiseGrower, PagedGrower, Tree, growth_fields

MOST_LEAVES = 1 << 12


def refusal(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source, and what does; "" where they do."""
    if model.max_leaf_nodes is None or model.max_leaf_nodes > MOST_LEAVES:
        return f"a tree without a limit needs all rows at once. Use max_leaf_nodes, at most {MOST_LEAVES}."
    if model.monotonic_cst is not None or model.interaction_cst is not None:
        return "constraints need all rows at once. Use monotonic_cst=None and interaction_cst=None."
    if model.rebin != "never":
        return "bins that are made anew need all rows at once. Use rebin='never'."
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
    data = BinnedPages(X, y, weight, every_row=False, categories=model.categories_)
    model.n_outputs_, model.n_trees_per_iteration_ = 1, loss.n_scores
    model.is_categorical_ = model._n_categories() > 0 if model._n_categories().any() else None
    trees = model._kept_rounds()
    if not trees:  # added rounds are judged by the rows that judged the first
        model._random_seed = hold_out_seed(model.random_state)
    random = generator(model.random_state)
    given = _hold_out(model, data, held_out)
    jobs = model._jobs(X)
    data.learn_edges(model._n_categories(), model.max_bins, int(random.integers(2**31 - 1)), jobs)
    scores = {"F": Field((loss.n_scores,), np.float64)}
    earlier = EarlierRounds(model.init_, list(trees)) if trees else None
    with data.fill({**growth_fields(loss.n_scores), **scores}, scores, earlier):
        if given is not None:
            rows, targets, masses = given
            data.fill_held(rows, targets, masses, scores, earlier)
        fit = PagedFit(model, loss, data, jobs)
        fit.look(trees)
        fit.learn(trees, random)


class PagedFit:
    """One fit: pages of the rows learned from, and of those held out."""

    def __init__(self, model: Any, loss: BoostingLoss, data: BinnedPages, jobs: Any) -> None:
        self.model, self.loss, self.data, self.jobs = model, loss, data, jobs
        self.pages, self.held = data.pages, data.held_pages

    def look(self, trees: list[Any]) -> None:
        """Look at targets and weights: the best constant score, which rows have first, and how to weigh rows."""
        model, loss = self.model, self.loss
        summaries = self.pages.each(functools.partial(PageSummary.of, loss), self.jobs)
        sums = total_of([part for page in summaries for part in page.target_sums])
        self.mass = float(total_of([part for page in summaries for part in page.masses])[0])
        least = min(page.least for page in summaries)
        if self.held is not None and self.data.parts.held is not None:  # rows of the source, too
            least = min(least, *self.held.each(least_target, self.jobs))
        model._refuse_targets(least, float(sums[0]))
        self.begin: list[Any] = []  # how scores come to be before the first round of this fit
        if not trees:
            model.init_ = loss.start_from(sums)
            model.train_score_, model.validation_score_ = np.empty(0), np.empty(0)
            self.begin = [functools.partial(start_scores, model.init_)]
            for pages in [self.pages, *([] if self.held is None else [self.held])]:
                pages.each(self.begin[0], self.jobs, changes=True)
        self._find_copies(summaries)

    def _find_copies(self, pages: list[PageSummary]) -> None:
        """Weights as numbers of copies, under the conditions of `LeafwiseGrower.copies_of`."""
        self.weighted, self.most_copies = self.data.weight is not None, 0
        if not self.weighted:
            return
        low, high = min(page.lightest for page in pages), max(page.heaviest for page in pages)
        self.weighted = not low == high == 1.0
        whole, ends = all(page.whole for page in pages), np.array([low, high])
        if whole and low != high and LeafwiseGrower.copies_of(ends) is not None:
            self.most_copies = int(high) if self.mass <= LeafwiseGrower.most_rows() else 0

    def _strips(self, pages: Pages, function: Any) -> list[np.ndarray]:
        """The strips of all pages, in order, of which `function` gives those of a page."""
        return [part for page in pages.each(function, self.jobs) for part in page]

    def learn(self, trees: list[Any], random: np.random.Generator) -> None:
        """The rounds; see `BaseHistGradientBoosting._fit`."""
        model, loss, pages = self.model, self.loss, self.pages
        given = model._grower(self.data.X.shape[1], self.jobs)
        names = ("limits", "penalty", "l1", "min_gain", "n_jobs", "categories")
        chosen = {name: given[name] for name in names}
        count = int(self.mass) if self.most_copies else 0
        grower = PagedGrower(self.data.bins, pages, **chosen, most_copies=self.most_copies, count=count)
        kind = KINDS.get(type(loss))
        terms = PagedTerms(loss, kind, pages, self.weighted, self.mass, self.jobs)
        scores = RoundScores(model, loss, self.data.X, None, None, self.held)
        if not trees:
            scores.add(None, None, None, self._mean_loss(pages), self._held_loss())
        terms.update()
        for step in model.steps(model.max_iter - len(trees), name="round", unpack=model._state):
            trees.append(self._round(grower, terms, random))
            if self.held is not None:
                self.held.each(NewRound(trees[-1]), self.jobs, changes=True)
            measures = scores.add(None, None, trees, terms.loss, self._held_loss())
            step.report((trees, len(trees), scores), **measures)
            if model.do_early_stopping_ and scores.stop():
                break
        model.__dict__.update(model._state((trees, len(trees), scores)))
        model.best_iteration_, model.best_score_ = scores.best(len(trees))

    def _round(self, grower: PagedGrower, terms: PagedTerms, random: np.random.Generator) -> list[Tree]:
        """One tree for each score; the scores are moved, and the derivatives taken anew."""
        made, n_scores = [], self.loss.n_scores
        for k in range(n_scores):
            seed = int(random.integers(2**31 - 1)) if grower.limits.draws_columns else 0
            arrays = grower.grow(k, terms.totals[k], self.model.learning_rate, seed)
            made.append(Tree.from_arrays(arrays, verify=False))
            self.begin.append(grower.binned_tree)
            if k + 1 < n_scores:
                self.pages.each(grower.leaf_values, self.jobs, changes=True)
        terms.update(grower.leaf_values)
        self.pages.checkpoint([*self.begin, terms.of_page])
        return made

    def _mean_loss(self, pages: Pages) -> float:
        """The mean loss of the rows of pages."""
        total, mass = total_of(self._strips(pages, functools.partial(loss_strips, self.loss)))
        return float(total / mass)

    def _held_loss(self) -> float | None:
        return None if self.held is None else self._mean_loss(self.held)


def _hold_out(model: Any, data: BinnedPages, given: tuple[Any, Any, Any]) -> Any:
    """Choose the rows that decide when to stop; those that were given for it, if any."""
    if model._stops_early(data.n, *given[:2]):
        X_val, y_val, weight_val = given
        if X_val is not None:
            X_val, y_val = model._check(X_val, y_val, reset=False)
            mass = np.ones(len(y_val)) if weight_val is None else np.asarray(weight_val, dtype=np.float64)
            return model._dense(X_val), np.asarray(model._encode_validation(y_val), dtype=np.float64), mass
        if model.validation_fraction is not None:
            stratify = isinstance(model, ClassifierMixin) and data.n <= SPLIT_ROWS
            strata = data.weighted_targets() if stratify else None
            data.hold_out(HeldOutRows(data.n, model.validation_fraction, model._random_seed, strata))
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


def start_scores(init: np.ndarray, page: Page) -> None:
    """Give the rows of a page their first scores."""
    page.get("F")[:] = init[:, None]


class PageSummary(NamedTuple):
    """What a fit must know of the targets and weights of a page before the first round."""

    least: float  # of the targets
    target_sums: list[np.ndarray]  # of the strips, of which the best constant score comes
    masses: list[np.ndarray]  # the weights of the strips
    lightest: float
    heaviest: float
    whole: bool  # whether all weights are whole numbers

    @classmethod
    def of(cls, loss: BoostingLoss, page: Page) -> Self:
        """The summary of a page."""
        y, weight = page.get("y"), row_weights(page)
        masses = strip_parts(lambda own: [own.sum()], weight)
        whole = bool((weight == np.floor(weight)).all())
        ends = float(weight.min()), float(weight.max())
        return cls(least_target(page), strip_parts(loss.sums, y, weight), masses, *ends, whole)


def least_target(page: Page) -> float:
    """The least target of a page."""
    return float(page.get("y").min(initial=np.inf))


def row_weights(page: Page) -> np.ndarray:
    """The weights of the rows of a page, 1 where they have none."""
    return page.get("weight") if "weight" in page.fields else np.ones(page.rows)


def loss_strips(loss: BoostingLoss, page: Page) -> list[np.ndarray]:
    """The losses and weights of the strips of a page."""
    F = np.ascontiguousarray(page.get("F").T)
    return strip_parts(functools.partial(loss_sums, loss), page.get("y"), F, row_weights(page))
