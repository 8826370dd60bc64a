"""Compile the kernels of a method on all cores at once.

Numba's compiler has one lock, so that threads would not help. When a fit comes to a kernel that is missing, the
others that it will probably need are known (`core.kernel_runs`): helper processes compile these into the cache
folder while this process compiles what it needs. When it comes to a kernel which a helper has
begun, it waits, and compiles others of the run meanwhile.

    TERCET_COMPILERS=n    processes that compile at once; 1: no helpers (default: one for each core, at most four)

Helpers end with the run, or with this process. Nothing depends on them: what they do not bring is compiled here.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import Any

from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack

from tercet.core import kernel, kernel_runs
from tercet.core.kernel_runs import KernelForm

MOST = 4  # compilers
START, PER_KERNEL, PER_BYTE = 0.7, 0.05, 4e-5  # seconds: of a helper's start, and of compiling
WORTH = 0.3  # seconds that helpers should save
PATIENCE = 60.0  # seconds that this process waits for a kernel which a helper has begun
COMMAND = (
    "import json, sys; sys.path[:], modules = json.loads(sys.argv[1]); "
    "from tercet.core.compile_ahead import serve; serve(modules, sys.stdin, sys.stdout)"
)


class CompileQueue:
    """The kernels of a run, which several processes compile.

    The largest is left to this process, which is ready sooner than a helper; so is what is slow to import.
    """

    def __init__(self, forms: Iterable[KernelForm] = ()) -> None:
        self._waiting = sorted(forms, key=lambda form: form.size)
        self.for_helpers = [form for form in self._waiting[:-1] if not form.slow_import]
        self._keys = {form.key for form in self._waiting}
        self._elsewhere: set[str] = set()  # keys of those that helpers have begun
        self._changed = threading.Condition()

    def __contains__(self, form: KernelForm) -> bool:
        return form.key in self._keys

    @property
    def modules(self) -> list[str]:
        """What a helper has to import."""
        return sorted({form.module for form in self.for_helpers})

    def claim(self, form: KernelForm) -> bool:
        """Take a kernel for this process, if nobody has begun it."""
        with self._changed:
            free = form in self._waiting
            if free:
                self._remove(form)
            return free

    def take_smallest(self) -> KernelForm | None:
        """The kernel that this process compiles while it waits for another."""
        with self._changed:
            return self._remove(self._waiting[0]) if self._waiting else None

    def take_for_helper(self) -> KernelForm | None:
        """The next kernel for a helper."""
        with self._changed:
            if not self.for_helpers:
                return None
            form = self._remove(self.for_helpers[-1])
            self._elsewhere.add(form.key)
            return form

    def _remove(self, form: KernelForm) -> KernelForm:
        for some in (self._waiting, self.for_helpers):
            with contextlib.suppress(ValueError):
                some.remove(form)
        return form

    def finish(self, form: KernelForm) -> None:
        """A helper has compiled a kernel, or never will."""
        with self._changed:
            self._elsewhere.discard(form.key)
            self._changed.notify_all()

    def cancel(self) -> None:
        """Leave out what nobody has begun."""
        with self._changed:
            self._waiting.clear()
            self.for_helpers.clear()

    def is_elsewhere(self, form: KernelForm) -> bool:
        """Whether a helper is at work on a kernel."""
        return form.key in self._elsewhere

    def wait_for(self, form: KernelForm, patience: float = PATIENCE) -> None:
        """Wait until no helper is at work on a kernel."""
        with self._changed:
            self._changed.wait_for(lambda: not self.is_elsewhere(form), timeout=patience)


class Helper:
    """A process that compiles what a thread of this process takes from a queue for it."""

    def __init__(self, queue: CompileQueue) -> None:
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        self.queue = queue
        self.process = subprocess.Popen(
            [sys.executable, *flags, "-c", COMMAND, json.dumps([list(map(str, sys.path)), queue.modules])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is for this process
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.thread = threading.Thread(target=self.work, name="tercet-compile-ahead", daemon=True)
        self.thread.start()

    def work(self) -> None:
        """Hand over kernels, one at a time, once the process is ready."""
        tasks: Any = self.process.stdin
        answers: Any = self.process.stdout
        form = None
        with contextlib.suppress(OSError, ValueError), self.process:
            while answers.readline():
                if form is not None:
                    self.queue.finish(form)
                form = self.queue.take_for_helper()
                if form is None:
                    break
                tasks.write(form.key + "\n")
                tasks.flush()
            tasks.close()
        if form is not None:  # the process has died
            self.queue.finish(form)

    def stop(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self.process.kill()


def serve(modules: list[str], tasks: Any, answers: Any) -> None:
    """The work of a helper: compile the kernels that are named by `tasks`, and answer after each.

    The first answer says that it is ready: what it takes first would wait for the imports.
    """
    global _is_helper
    _is_helper = True
    sys.stdout = sys.stderr  # answers only
    for module in modules:
        importlib.import_module(module)
    cpu_target.target_context.refresh()  # which the compiler does first
    print(file=answers, flush=True)
    for line in tasks:
        form = kernel_runs.table().forms.get(line.rstrip("\n"))
        if form is not None:
            compile_form(form)
        print(file=answers, flush=True)


def compile_form(form: KernelForm) -> None:
    """Load a kernel, or compile it and put it into the cache folder."""
    # Errors are those of a table that is out of date: whoever needs the kernel meets them, too.
    with contextlib.suppress(Exception):
        form.dispatcher().compile(form.signature())


_is_helper = False
_fits: tuple[type, ...] = ()  # the fits during which kernels were missing
_missed: list[KernelForm] = []  # these kernels
_queue = CompileQueue()
_helpers: list[Helper] = []


def bring(function: Any, signature: Any) -> bool:
    """Whether a kernel that was missing may be in the cache folder now; otherwise the caller has to compile it."""
    global _fits, _missed
    if ConfigStack.top_or_none() is not None:  # it becomes a part of a kernel that is being compiled
        return False
    form = kernel_runs.table().find(function, signature)
    if form is None:
        return False
    if _fits is not kernel.running_fits:
        _fits, _missed = kernel.running_fits, []
    _missed.append(form)
    if form not in _queue:
        _queue.cancel()  # it was a wrong guess
        if not start():
            return False
    if _queue.claim(form):
        return False
    while _queue.is_elsewhere(form):
        other = _queue.take_smallest()
        if other is None:
            _queue.wait_for(form)
            break
        compile_form(other)
    return True


def start() -> bool:
    """Start helpers for what a fit probably needs, given the kernels that it missed, where that is worth it."""
    global _queue, _helpers
    processes = compilers()
    if processes < 2:
        return False
    missing = [form for form in kernel_runs.table().likely_run(_fits, _missed) if is_missing(form)]
    if not saved_seconds(missing):
        return False
    queue = CompileQueue(missing)
    _helpers = [
        helper for helper in _helpers if helper.thread.is_alive()
    ]  # with the last kernel of another queue
    try:
        for _ in range(min(processes - 1, len(queue.for_helpers))):
            _helpers.append(Helper(queue))
    except (OSError, RuntimeError):  # no process or thread can be started
        queue.cancel()
        return False
    _queue = queue
    return True


def saved_seconds(forms: list[KernelForm]) -> float:
    """About what a helper would save in compiling some kernels; 0 where it is not worth it."""
    ordered = sorted(forms, key=lambda form: form.size)
    alone = sum(map(compile_seconds, ordered))
    shared = sum(compile_seconds(form) for form in ordered[:-1] if not form.slow_import)
    saved = min(shared, (alone - START) / 2)
    return saved if saved >= WORTH else 0.0


def compile_seconds(form: KernelForm) -> float:
    """About the time that it takes to compile a kernel."""
    return PER_KERNEL + PER_BYTE * form.size


def is_missing(form: KernelForm) -> bool:
    """Whether a kernel would have to be compiled."""
    try:
        dispatcher, signature = form.dispatcher(), form.signature()
        return signature not in dispatcher.overloads and not dispatcher._cache.holds(signature)
    except (ImportError, AttributeError):  # of a table that is out of date
        return False


def compilers() -> int:
    """How many processes may compile at once."""
    program = os.path.basename(sys.executable or "").lower()
    if _is_helper or getattr(sys, "frozen", False) or not program.startswith("py"):
        return 1  # a program that embeds Python would start itself
    if multiprocessing.current_process().name != "MainProcess":
        return 1  # the others of its kind use the cores
    import joblib

    asked = os.environ.get("TERCET_COMPILERS", "")
    return int(asked) if asked.isdecimal() else min(joblib.cpu_count(), MOST)


def _forget() -> None:
    """A forked process has neither the helpers nor the threads that talk to them."""
    global _queue, _helpers
    _queue, _helpers = CompileQueue(), []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@atexit.register
def _stop_helpers() -> None:
    for helper in _helpers:
        helper.stop()
