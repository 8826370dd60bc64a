"""Statistics over chunks: the same bits for any number of threads, and no way to get stuck."""

import multiprocessing
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_info

from tercet.core import parallel
from tercet.core.parallel import Chunks, each, total, using
from tercet.core.steps import Steps
from tercet.core.stopping import Stopped, check_stop
from tests.systems import posix


def gradient(chunk, w):
    X, y, weight = chunk
    residual = X @ w - y
    if weight is not None:
        residual = residual * weight
    return X.T @ residual, float(residual @ residual)


def problem(n=5000, d=7):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=n), rng.random(n), rng.normal(size=d)


@pytest.mark.parametrize("form", ["dense", "csr", "fortran"])
def test_same_bits_for_any_number_of_threads(form):
    X, y, weight, w = problem()
    X = {"dense": X, "csr": sparse.csr_array(X), "fortran": np.asfortranarray(X)}[form]
    chunks = Chunks(X, y, weight, rows=64)
    one = total(gradient, chunks, w, n_jobs=1)
    for n_jobs in (2, 7, -1):
        for _ in range(3):
            other = total(gradient, chunks, w, n_jobs=n_jobs)
            assert np.array_equal(one[0], other[0])
            assert one[1] == other[1]
    residual = (X @ w - y) * weight
    np.testing.assert_allclose(one[0], X.T @ residual, rtol=1e-10)


@given(n=st.integers(1, 300), rows=st.integers(1, 100))
def test_chunks_cover_all_rows_once(n, rows):
    X = np.arange(n, dtype=float)[:, None]
    for data in (X, sparse.csr_array(X)):
        chunks = Chunks(data, np.arange(n), None, rows=rows)
        assert len(chunks) == -(-n // rows)
        assert all(nothing is None for _, _, nothing in chunks)
        np.testing.assert_array_equal(np.concatenate([y for _, y, _ in chunks]), np.arange(n))
        parts = [part.toarray() if sparse.issparse(part) else part for part, _, _ in chunks]
        np.testing.assert_array_equal(np.vstack(parts), X)


def test_split_depends_on_the_data_alone():
    X = np.zeros((100_000, 50))
    borders = Chunks(X).borders
    assert len(borders) > 10
    with using(parallel.Threads(3)):
        assert Chunks(X).borders == borders


def test_first_result_is_not_changed_in_place():
    kept = np.ones(3)
    assert total(lambda item: (kept, 1.0), [0, 1, 2])[0].tolist() == [3, 3, 3]
    assert total(lambda item: kept, [0, 1, 2]).tolist() == [3, 3, 3]
    assert kept.tolist() == [1, 1, 1]


def test_each_keeps_order():
    def slow_first(k):
        time.sleep(0.02 if k == 0 else 0)
        return k

    assert each(slow_first, range(200), n_jobs=4) == list(range(200))


@pytest.mark.parametrize("count", [1, 2])
def test_no_threads_at_all_is_an_error(count):
    for function in (total, each):
        with pytest.raises(ValueError, match="n_jobs must be"):
            function(lambda k: 1.0, range(count), n_jobs=0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_errors_reach_the_caller(n_jobs):
    def fail(k):
        if k == 5:
            raise ZeroDivisionError("chunk five")
        return 1.0

    with pytest.raises(ZeroDivisionError, match="chunk five"):
        total(fail, range(100), n_jobs=n_jobs)
    assert total(lambda k: 1.0, range(10), n_jobs=n_jobs) == 10  # and the pool still works


def test_nested_and_simultaneous_calls():
    X, y, weight, w = problem(800)
    chunks = Chunks(X, y, weight, rows=16)
    expected = total(gradient, chunks, w)

    def inner(_):
        return total(gradient, chunks, w, n_jobs=4)[1]

    answers = []
    workers = [
        threading.Thread(target=lambda: answers.append(each(inner, range(4), n_jobs=4))) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=600)
    assert answers == [[expected[1]] * 4] * 4


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_held_to_one_thread_and_let_go():
    before = blas_threads()
    seen = each(lambda _: blas_threads(), range(4), n_jobs=2)
    assert all(set(threads) <= {1} for threads in seen)
    assert blas_threads() == before
    with pytest.raises(RuntimeError, match="no"), parallel.one_blas_thread():
        raise RuntimeError("no")
    assert blas_threads() == before


def test_blas_is_asked_and_told_directly(monkeypatch):
    """Finding the libraries takes milliseconds: once for all."""
    with parallel.one_blas_thread():
        pass
    monkeypatch.setattr(parallel, "ThreadpoolController", None)
    seen = each(lambda _: blas_threads(), [0])
    assert set(seen[0]) <= {1}


def child(queue):
    X, y, weight, w = problem(800)
    queue.put(total(gradient, Chunks(X, y, weight, rows=16), w, n_jobs=2)[1])


def test_blas_is_held_in_any_thread():
    """Whoever was here before: threadpoolctl lets one thread at a time set limits."""
    before = blas_threads()
    each(lambda _: None, range(2), n_jobs=1)
    inside, outside = [], []

    def work():
        inside.append(each(lambda _: blas_threads(), range(2), n_jobs=1))
        outside.append(blas_threads())

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(timeout=600)
    assert inside == [[[1] * len(before)] * 2] * 2
    assert outside == [before] * 2
    each(lambda _: None, range(2), n_jobs=1)
    assert blas_threads() == before


def test_whoever_leaves_last_gives_blas_back():
    before = blas_threads()
    arrived, go = threading.Event(), threading.Event()

    def work():
        with parallel.one_blas_thread():
            arrived.set()
            go.wait(timeout=600)

    thread = threading.Thread(target=work)
    with parallel.one_blas_thread():
        thread.start()
        assert arrived.wait(timeout=600)
    assert blas_threads() == [1] * len(before)
    go.set()
    thread.join(timeout=600)
    assert blas_threads() == before


@posix
def test_after_fork():
    X, y, weight, w = problem(800)
    expected = total(gradient, Chunks(X, y, weight, rows=16), w, n_jobs=2)[1]
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    process = fork.Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=600) == expected
    process.join(timeout=600)
    assert process.exitcode == 0


def test_another_engine():
    class Backwards:
        """Does the work in the wrong order, gives it in the right one."""

        def map(self, function, items, parameters):
            done = {k: function(items[k], *parameters) for k in reversed(range(len(items)))}
            yield from (done[k] for k in range(len(items)))

    X, y, weight, w = problem(800)
    chunks = Chunks(X, y, weight, rows=16)
    with using(Backwards()):
        there = total(gradient, chunks, w)
    here = total(gradient, chunks, w, n_jobs=2)
    assert np.array_equal(there[0], here[0])


def test_results_are_taken_as_they_come():
    """A slow consumer does not let finished results pile up without end."""
    waiting = []

    def work(k):
        waiting.append(k)
        return k

    for k in parallel.Threads(2).map(work, range(2000), ()):
        if k == 0:
            time.sleep(0.2)
            assert len(waiting) <= parallel._Run.AHEAD + 4


class Blocks:
    """Work in blocks on two threads; the caller or the helper fails after so many blocks of its own."""

    def __init__(self, error, in_helper, total=1000):
        self.error, self.in_helper, self.limit = error, in_helper, total
        self.caller, self.both = threading.current_thread(), threading.Barrier(2)
        self.done, self.failed = {True: 0, False: 0}, threading.Event()

    def __call__(self, _, check):
        helper = threading.current_thread() is not self.caller
        self.both.wait(timeout=600)  # each has its item
        for k in range(self.limit):
            check()
            if helper == self.in_helper and k == 3:
                self.failed.set()
                raise self.error
            if helper != self.in_helper:
                assert self.failed.wait(timeout=600)
                time.sleep(0.001)
            self.done[helper] += 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("block three")])
@pytest.mark.parametrize("in_helper", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_an_error_ends_the_others_at_their_next_check(error, in_helper, nested):
    """Not at the end of their items: an item may be a whole fit."""

    def check():
        if nested:
            each(lambda _: check_stop(), [0, 1], n_jobs=1)
        else:
            check_stop()

    blocks = Blocks(error, in_helper)
    with pytest.raises(type(error)) as found:
        each(blocks, range(2), check, n_jobs=2)
    assert found.value is error
    assert blocks.done[in_helper] == 3
    assert blocks.done[not in_helper] < blocks.limit
    check_stop()  # the run is over: whoever asked for it goes on
    assert each(lambda k: k, range(4), n_jobs=2) == [0, 1, 2, 3]


def test_a_run_inside_a_helper_ends_with_the_outer_run(monkeypatch):
    """Its own helpers, too, which work for the run inside."""
    monkeypatch.setattr(parallel, "INTERRUPT_WAIT", 600.0)  # however busy the machine is
    caller, inside, outcome = threading.current_thread(), threading.Event(), []
    both = threading.Barrier(2)

    def wait_for_a_stop(_):
        inside.set()
        for _ in range(10_000):
            check_stop()
            time.sleep(0.001)
        outcome.append("not stopped")

    def item(_):
        both.wait(timeout=600)  # each has its item
        if threading.current_thread() is caller:
            assert inside.wait(timeout=600)
            raise KeyboardInterrupt
        try:
            each(wait_for_a_stop, range(3), n_jobs=3)
        except BaseException as error:
            outcome.append(type(error))
            raise

    with pytest.raises(KeyboardInterrupt):
        each(item, range(2), n_jobs=2)
    assert outcome == [Stopped]


def test_passes_of_a_fit_stop():
    """`Steps` asks before every pass."""
    begun, caller = threading.Event(), threading.current_thread()
    both, passes = threading.Barrier(2), []

    def fit(_):
        both.wait(timeout=600)
        if threading.current_thread() is caller:
            assert begun.wait(timeout=600)
            raise KeyboardInterrupt
        for step in Steps(100_000):
            begun.set()
            passes.append(step.count)
            time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        each(fit, range(2), n_jobs=2)
    assert len(passes) < 100_000


def test_ctrl_c_does_not_wait_for_code_that_never_checks(monkeypatch):
    monkeypatch.setattr(parallel, "INTERRUPT_WAIT", 0.0)
    release, begun, caller = threading.Event(), threading.Event(), threading.current_thread()
    both = threading.Barrier(2)

    def foreign(_):
        both.wait(timeout=600)
        if threading.current_thread() is caller:
            assert begun.wait(timeout=600)
            raise KeyboardInterrupt
        begun.set()
        release.wait(timeout=600)

    with pytest.raises(KeyboardInterrupt):
        each(foreign, range(2), n_jobs=2)
    release.set()
