"""Fits on a real Dask cluster on loopback: the same bits on 1, 2 and 4 workers, whatever happens to workers."""

import asyncio
import contextlib
import copy
import os
import signal
import threading
import time

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, get_worker
from sklearn.base import clone

import tercet
from tercet.core import dask_engine, dask_states
from tercet.core.dask_engine import DaskEngine
from tercet.core.parallel import Chunks, total, using
from tercet.core.steps import EngineLost, Steps
from tercet.core.streams import MemoryStream
from tercet.datasets import Source
from tercet.decomposition import NMF, MiniBatchNMF
from tercet.decomposition._nmf import streamed_table
from tercet.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from tercet.linear_model import LinearRegression, LogisticRegression
from tercet.mixture import GaussianMixture
from tercet.naive_bayes import AODE, TAN, CategoricalNB, GaussianNB
from tercet.sequence import CRF
from tercet.sequence.crf._engine import features, objective
from tercet.topic import PLSA
from tercet.topic._plsa import streamed_documents
from tercet.tree import DecisionTreeClassifier, PagedGrower
from tercet.tree._engine import binned_pages, histogram_growth
from tests.streaming.conftest import write_parts
from tests.streaming.test_same_bits import assert_equal_items, assert_same
from tests.systems import forked_from

UNFINISHED = pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*Maximum number of iterations")
MODELS = [(LinearRegression(), "number"), (LogisticRegression(max_iter=3), "two"), (GaussianNB(), "three")]

LIMIT = 300  # seconds, for what takes some: a worker that never comes back must not hold the suite
lost: list[str] = []  # what did not end in time: the tests after it fail at once
# What the process that workers are forked from has imported; each imports Tercet itself.
LIBRARIES = ["distributed.nanny", "numba", "pandas", "pyarrow.dataset", "scipy.stats", "sklearn.ensemble"]


@contextlib.contextmanager
def local_cluster(start):
    """A cluster that has no workers yet."""
    # A worker that was killed has as long to come back as any to start: 15 s are too few on a busy machine.
    patience = {"distributed.deploy.lost-worker-timeout": f"{LIMIT} s"}
    with dask.config.set({"distributed.worker.multiprocessing-method": start, **patience}):
        cluster = LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            death_timeout=LIMIT / 3,  # of a process that does not answer
            env=dict(os.environ),  # not that of the process they are forked from
        )
        try:
            yield cluster
        finally:
            cluster.close(timeout=LIMIT)


def scale(cluster, workers):
    """Wait until the cluster has as many workers as a test wants, whatever the test before has left."""

    def ready():
        there = {one.name for one in cluster.scheduler.workers.values()}
        return there == {*cluster.worker_spec} == {*cluster.workers}

    async def settled():
        cluster.scale(workers)
        while not ready():
            await asyncio.sleep(0.02)

    if lost:
        pytest.fail(f"in an earlier test: {lost[0]}")
    try:
        cluster.sync(settled, callback_timeout=LIMIT)
    except TimeoutError:
        lost.append(f"the cluster has {len(cluster.scheduler.workers)} of {workers} workers after {LIMIT} s")
        pytest.fail(lost[0])


@contextlib.contextmanager
def limited_client(cluster):
    """A client that is closed after a time, so that whoever waits for its workers gets an error."""
    # By its address: waiting for workers through the cluster overwrites its list of them, and a worker
    # removed in that moment raises a KeyError in the cluster's own watcher (distributed 2026.8).
    with Client(cluster.scheduler_address) as client:
        late = threading.Event()
        closing = threading.Timer(LIMIT, lambda: (late.set(), client.close()))
        closing.start()
        try:
            yield client
        finally:
            closing.cancel()
            if late.is_set():
                lost.append(f"the workers are not done after {LIMIT} s")
                pytest.fail(lost[0])


@pytest.fixture(scope="module")
def start():
    with forked_from(*LIBRARIES) as start:
        yield start


@pytest.fixture(scope="module")
def cluster(start):
    with local_cluster(start) as cluster:
        yield cluster


@pytest.fixture
def client_of(cluster):
    """`client_of(2)`: a client of the cluster, which has two workers then."""
    with contextlib.ExitStack() as stack:

        def connected(workers):
            scale(cluster, workers)
            return stack.enter_context(limited_client(cluster))

        yield connected


FACTORS = [
    NMF(3, init="nndsvdar", random_state=0, tol=0.0, max_iter=3),
    NMF(
        2,
        solver="mu",
        beta_loss="kullback-leibler",
        init="random",
        normalize="rescale",
        random_state=0,
        max_iter=1,
    ),
    MiniBatchNMF(2, init="nndsvda", batch_size=4000, max_iter=1),
    PLSA(3, random_state=0, max_iter=3, tol=0.0),
    PLSA(2, model="cooccurrence", beta=0.9, n_init=2, random_state=0, max_iter=1, tol=0.0),
]


@pytest.fixture
def counts(rows, tmp_path, monkeypatch):
    """A folder of counts, of which factorisations make several chunks."""
    monkeypatch.setattr(streamed_table, "CHUNK_BYTES", 1 << 18)
    monkeypatch.setattr(streamed_documents, "CHUNK_BYTES", 1 << 18)
    return write_parts(tmp_path, {}, np.floor(np.abs(2 * rows["X"])))


def assert_same_sums(client, rows, folder, names):
    for model, target in MODELS:
        whole = clone(model).fit(rows["X"], rows[target], sample_weight=rows["weight"])
        with tercet.engine("dask", client):
            source = Source(folder, columns=[*names, target, "weight"])
            assert_same(clone(model).fit(source, y=target, sample_weight="weight"), whole)
            if target == "number":
                assert_same(clone(model).fit(rows["X"], rows[target], sample_weight=rows["weight"]), whole)


def assert_same_factors(client, folder, models):
    """What has numbers of every row that passes change has the bits of a streamed fit on threads."""
    for model in models:
        with tercet.engine("stream"):
            here = clone(model).fit(Source(folder))
        with tercet.engine("dask", client):
            assert_same(clone(model).fit(Source(folder)), here)


@pytest.fixture
def small_pages(monkeypatch):
    """Twelve pages, results of neighbours that are combined on workers, and nodes too large to be collected."""
    monkeypatch.setattr(binned_pages, "STRIP_ROWS", 1 << 10)
    monkeypatch.setattr(binned_pages, "PAGE_BYTES", 1 << 14)
    monkeypatch.setattr(histogram_growth, "SUBTREE_ROWS", 2000)
    monkeypatch.setattr(dask_engine, "GROUP", 2)


BOOSTING = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5, random_state=0)
CATEGORIES = {"early_stopping": False, "max_iter": 1, "max_leaf_nodes": 3, "categorical_features": ["count"]}
POISSON = HistGradientBoostingRegressor(loss="poisson", max_iter=1, max_leaf_nodes=3, random_state=0)
TREES = [
    (BOOSTING, "two", "weight"),
    (clone(BOOSTING).set_params(**CATEGORIES), "three", None),
    (POISSON, "count", None),
    (clone(POISSON).set_params(loss="squared_error"), "number", "weight"),
    (DecisionTreeClassifier(max_depth=3, max_features=5, random_state=0), "three", "weight"),
    (RandomForestRegressor(1, max_depth=3, random_state=0), "number", None),
]


def learned_from(folder, names, model, target, weight):
    coded = getattr(model, "categorical_features", None)
    others = {target, weight, *(coded if isinstance(coded, list) else [])} - {None}
    return clone(model).fit(Source(folder, columns=[*names, *sorted(others)]), y=target, sample_weight=weight)


def assert_same_grown(model, expected):
    if isinstance(model, RandomForestRegressor):
        assert_equal_items([one.tree_ for one in model], [one.tree_ for one in expected], "trees")
    else:
        assert_same(model, expected)
        if hasattr(model, "tree_"):
            assert_equal_items([model.tree_], [expected.tree_], "tree")


def assert_same_trees(client, folder, names, cases):
    for model, target, weight in cases:
        given = folder, names, model, target, weight
        with tercet.engine("stream"):
            expected = learned_from(*given)
        with tercet.engine("dask", client):
            assert_same_grown(learned_from(*given), expected)


# Tests come in the order of the workers that they take: few are started, none is stopped.


@UNFINISHED
@pytest.mark.parametrize("workers", [1, 2])
def test_same_bits_on_any_number_of_workers(workers, client_of, small_pages, rows, folder, names, counts):
    """One worker has blocks of two chunks, two have blocks of one."""
    client = client_of(workers)
    assert_same_sums(client, rows, folder, names)
    assert_same_factors(client, counts, FACTORS if workers == 2 else FACTORS[::3])
    if workers == 1:
        assert_same_trees(client, folder, names, TREES[:1])


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_same_bits_of_what_learns_in_several_passes(client_of, rows, folder, names, monkeypatch):
    """Statistics that are combined in another way than by a sum, EM, and labelled sequences."""
    client = client_of(2)
    four, source = np.floor(rows["X"][:, :4]), Source(folder, columns=names)
    mixture = GaussianMixture(2, max_iter=2, tol=0.0, random_state=0, init_params="random_from_data")
    lengths, label = np.full(600, 20), np.floor(rows["number"]).clip(-1, 1)
    monkeypatch.setattr(objective, "BLOCK", 1 << 12)
    monkeypatch.setattr(features, "COUNTED", 1 << 12)
    words = pd.DataFrame(np.floor(rows["X"]).astype(str)).add_prefix("f")
    with tercet.engine("dask", client):
        assert_same(
            CategoricalNB().fit(Source(words), y=rows["two"]), CategoricalNB().fit(words, rows["two"])
        )
        tree = TAN().fit(four, rows["two"])
        averaged = AODE().fit(four, rows["two"])
        found = clone(mixture).fit(source)
        labelled = CRF(max_iterations=2).fit(source, y=label, lengths=lengths)
    assert_same(tree, TAN().fit(four, rows["two"]))
    assert_same(averaged, AODE().fit(four, rows["two"]))
    assert_same(found, mixture.fit(rows["X"]))
    frame = pd.DataFrame(rows["X"], columns=names)
    assert_same(labelled, CRF(max_iterations=2).fit(frame, label, lengths=lengths))


def test_what_changes_numbers_of_rows_stays_here(client_of, rows, folder, names):
    """Trees of arrays in memory are grown here, where all of them are."""
    with tercet.engine("dask", client_of(2)):
        grown = DecisionTreeClassifier(max_depth=2).fit(rows["X"], rows["two"])
    assert_same(grown, DecisionTreeClassifier(max_depth=2).fit(rows["X"], rows["two"]))


def test_trees_have_the_bits_of_threads(client_of, small_pages, folder, names):
    """Binned rows, their scores and nodes lie on the workers; those held out do, too."""
    assert_same_trees(client_of(2), folder, names, TREES)


def test_more_rounds_of_rows_that_are_sent(client_of, small_pages, rows, folder, names):
    """Targets in memory: workers cannot read the pages themselves. The scores are those of the rounds before."""
    model, source = clone(POISSON).set_params(warm_start=True), Source(folder, columns=names)
    with tercet.engine("stream"):
        first = clone(model).fit(source, y=rows["count"])
        expected = copy.deepcopy(first).set_params(max_iter=2).fit(source, y=rows["count"])
    with tercet.engine("dask", client_of(2)):
        assert_same(first.set_params(max_iter=2).fit(source, y=rows["count"]), expected)
    assert len(expected.trees_) == 2


def test_boosting_goes_on_when_a_worker_is_lost(client_of, small_pages, folder, names, monkeypatch):
    """Its pages are read again: scores come from the trees so far, nodes from the splits of the present one."""
    client = client_of(2)
    given = folder, names, BOOSTING, "two", "weight"
    with tercet.engine("stream"):
        expected = learned_from(*given)
    leaf_sums, grown = PagedGrower._leaf_sums, []

    def leaf_sums_after_a_loss(grower, *given):
        grown.append(grower)
        if len(grown) == 2:  # in the middle of the second round
            os.kill(min(client.run(os.getpid).items())[1], signal.SIGKILL)
        return leaf_sums(grower, *given)

    monkeypatch.setattr(PagedGrower, "_leaf_sums", leaf_sums_after_a_loss)
    with tercet.engine("dask", client):
        assert_same(learned_from(*given), expected)
    assert len(grown) == 2


def sums(chunk):
    return chunk[0].T @ chunk[0]


def sums_of_a_worker_that_dies(chunk, mark):
    """The first to come here kills its process."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return sums(chunk)
    os.kill(os.getpid(), signal.SIGKILL)


def sums_of_a_slow_worker(chunk, slow):
    if get_worker().address == slow:
        time.sleep(0.2)
    return sums(chunk)


@pytest.mark.parametrize("where", ["read there", "sent"])
def test_a_lost_worker_is_made_up_for(where, client_of, rows, folder, names, tmp_path):
    if where == "sent":
        X = MemoryStream("test", X=rows["X"]).array("X")
    else:
        X = source_rows(folder, names)
    chunks, expected = Chunks(X), total(sums, Chunks(rows["X"]))
    with using(DaskEngine(client_of(2))):
        np.testing.assert_array_equal(total(sums, chunks), expected)
        np.testing.assert_array_equal(
            total(sums_of_a_worker_that_dies, chunks, str(tmp_path / "mark")), expected
        )
        np.testing.assert_array_equal(total(sums, chunks), expected)


@UNFINISHED
@pytest.mark.parametrize(("model", "kept"), [(FACTORS[0], "log"), (FACTORS[3], "saved")], ids=["NMF", "PLSA"])
def test_factors_of_a_lost_worker_are_computed_again(model, kept, client_of, rows, counts, monkeypatch):
    """A worker is killed after the second pass: W and P(z|d) of its rows come from the passes made so far."""
    client = client_of(2)
    X = np.floor(np.abs(2 * rows["X"]))
    with tercet.engine("stream"):
        expected = clone(model).fit(Source(counts) if kept == "log" else Source(X))
    if kept == "saved":
        monkeypatch.setattr(dask_states, "LOG_BYTES", 1)
    report, again, found = Steps.report, dask_states.DaskStates.computed_again, []

    def losing(loop, /, *state, **measures):
        report(loop, *state, **measures)
        if loop.count == 2:
            found.clear()
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

    def noted(states, block):
        found.append((len(states.log), states.saved is not None))
        return again(states, block)

    monkeypatch.setattr(Steps, "report", losing)
    monkeypatch.setattr(dask_states.DaskStates, "computed_again", noted)
    with tercet.engine("dask", client):
        assert_same(clone(model).fit(Source(counts) if kept == "log" else Source(X)), expected)
    assert (0, True) in found if kept == "saved" else any(passes >= 2 for passes, _ in found)


@UNFINISHED
def test_factors_of_arrays_in_memory_come_back(client_of, rows, counts):
    """A fit of arrays has W and P(z|d) of all rows, wherever they were computed."""
    X = np.floor(np.abs(2 * rows["X"]))
    with tercet.engine("dask", client_of(2)):
        found = clone(FACTORS[0]).fit_transform(X)
        topics = clone(FACTORS[3]).fit(X, sample_weight=rows["weight"])
        few = clone(FACTORS[2]).fit_transform(X)
    np.testing.assert_allclose(found, clone(FACTORS[0]).fit_transform(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(few, clone(FACTORS[2]).fit_transform(X))
    here = clone(FACTORS[3]).fit(X, sample_weight=rows["weight"])
    for name in ("components_", "doc_topic_", "topic_weights_", "document_weights_", "log_likelihood_"):
        np.testing.assert_allclose(getattr(topics, name), getattr(here, name), rtol=1e-9, err_msg=name)


def source_rows(folder, names):
    from tercet.core.source_checks import SourceChecks
    from tercet.core.streams import Stream

    source = Source(folder, columns=names)
    return Stream(source, source.features(), (), None, SourceChecks("test")).array("X")


def test_a_slow_worker_changes_nothing(client_of, rows):
    client = client_of(2)
    slow = min(client.scheduler_info(n_workers=-1)["workers"])
    chunks = Chunks(MemoryStream("test", X=rows["X"]).array("X"))
    with using(DaskEngine(client)):
        np.testing.assert_array_equal(
            total(sums_of_a_slow_worker, chunks, slow), total(sums, Chunks(rows["X"]))
        )


def slow_sums(chunk):
    time.sleep(0.5)
    return sums(chunk)


def interrupted(run):
    raise KeyboardInterrupt


def test_an_interrupt_cancels_the_pass(client_of, rows, monkeypatch):
    """Ctrl-C while the pass waits for its results ends it, and the engine goes on working."""
    chunks = Chunks(MemoryStream("test", X=rows["X"]).array("X"))
    with using(DaskEngine(client_of(2))):
        expected = total(sums, chunks)
        with monkeypatch.context() as patch:
            patch.setattr(dask_engine._Run, "_next", interrupted)
            with pytest.raises(KeyboardInterrupt):
                total(slow_sums, chunks)
        np.testing.assert_array_equal(total(sums, chunks), expected)


def fails(chunk):
    raise ZeroDivisionError("in a chunk")


def test_errors_come_back_as_they_are(client_of, rows):
    chunks = Chunks(MemoryStream("test", X=rows["X"]).array("X"))
    with using(DaskEngine(client_of(2))), pytest.raises(ZeroDivisionError, match="in a chunk"):
        total(fails, chunks)
    with (
        pytest.raises(TypeError, match=r"takes a dask\.distributed\.Client"),
        tercet.engine("dask", "client"),
    ):
        pass
    with pytest.raises(ValueError, match="engine must be"), tercet.engine("spark"):
        pass


def test_a_scheduler_that_goes_away(start, rows, monkeypatch):
    """A clear error within seconds, and the model of the last pass."""
    report, began = Steps.report, []
    with contextlib.ExitStack() as afterwards, local_cluster(start) as own, limited_client(own) as client:
        scale(own, 1)

        def going_away(loop, /, *state, **measures):
            report(loop, *state, **measures)
            if loop.count == 3 and not began:
                began.append(time.monotonic())
                own.sync(own.scheduler.close)
                # The cluster looks for its scheduler, too, when it is closed: not for 30 s.
                afterwards.enter_context(dask.config.set({"distributed.comm.timeouts.connect": "1 s"}))

        monkeypatch.setattr(Steps, "report", going_away)
        monkeypatch.setattr(dask_engine, "PATIENCE", 1.0)
        model = LogisticRegression(solver="gd", tol=0.0, max_iter=50)
        with tercet.engine("dask", client), pytest.raises(EngineLost, match="cannot be reached any more"):
            model.fit(rows["X"], rows["two"])
        assert time.monotonic() - began[0] < 60
    assert model.coef_.shape == (1, 20)
    assert len(model.history_["fun"]) == 3
    assert model.predict(rows["X"][:5]).shape == (5,)


@UNFINISHED
def test_same_bits_on_four_workers(client_of, rows, folder, names):
    assert_same_sums(client_of(4), rows, folder, names)
