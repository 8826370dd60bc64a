"""Campaign of interrupts: `python -m tests.fuzz --oracle interrupts`. Ctrl-C at any moment of a fit."""

import signal
import threading
import time
from typing import Any

import numpy as np

from tests.fuzz.oracles import build, calm, fit, oracle, said
from tests.fuzz.verdicts import Failure, Refused, judged

PROMPT = 1.0  # seconds of the processor after which an answer to Ctrl-C is late
STILL = 10.0  # seconds on the wall, on a busy machine


@oracle
def interrupts(card: Any, rng: np.random.Generator) -> None:
    """SIGINT at a random moment of a fit: KeyboardInterrupt comes out, soon, and the next fit is as any other.

    Applies to every estimator. A fit that is over before the signal comes is as good.
    """
    parameters, X, y = calm(card, rng, tight=False, rows=(30, 120))
    parameters.pop("warm_start", None)
    began = time.perf_counter()
    whole, _ = fit(card, parameters, X, y)
    expected, took = said(whole, X), time.perf_counter() - began
    model = build(card, parameters)
    sent: list[float] = []

    def strike() -> None:
        sent.extend((time.perf_counter(), time.process_time()))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(float(rng.random()) * min(took, 1.0), strike)
    came = None
    try:
        timer.start()
        with judged():
            model.fit(X, y)
        timer.join()
        time.sleep(0.001)
    except KeyboardInterrupt:
        came = time.perf_counter(), time.process_time()
    except Refused as refusal:
        raise Failure("refused", f"an interrupt became {refusal}") from refusal
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
    if came is not None and sent:
        waited, worked = came[0] - sent[0], came[1] - sent[1]
        if worked > PROMPT or waited > STILL:
            raise Failure(
                "late", f"KeyboardInterrupt came {waited:.1f} s after the signal ({worked:.1f} s of work)"
            )
    with judged(refusals=False):
        model.fit(X, y)
    if not np.array_equal(said(model, X), expected, equal_nan=True):
        raise Failure("differs", "the fit after an interrupt gives other answers")
