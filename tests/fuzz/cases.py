"""One case: an estimator, an oracle and a number decide all of it."""

import functools
import zlib
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from tests.conformance.population import CARDS, RECORDS, TEXTS, is_sequential
from tests.fuzz import answers, exemptions, interrupts, models  # noqa: F401  (they add their oracles)
from tests.fuzz.oracles import ORACLES, Case
from tests.fuzz.parameters import signature_of
from tests.fuzz.verdicts import DoesNotApply, Failure, Refused, failure

# These have campaigns of their own (`--oracle interrupts`, `--oracle model_files`).
APART = ("interrupts", "model_files")
NOT_OF_SEQUENCES = ("weights", "sparse_rows", "containers", "batches")


class Outcome(NamedTuple):
    """How a case ended: "passed", "refused", "skipped" or "failed", with what there is to say about it."""

    verdict: str
    kind: str = ""
    text: str = ""
    place: str = ""
    trace: str = ""


@functools.cache
def card_of(name: str) -> Any:
    return next(card for card in CARDS if card.name == name)


@functools.cache
def never_applies(estimator: str, oracle: str) -> str:
    """Why an oracle has nothing to say of an estimator, whatever the case; empty where it has."""
    card = card_of(estimator)
    if oracle in NOT_OF_SEQUENCES and is_sequential(card):
        return "not of sequences"
    if oracle in NOT_OF_SEQUENCES and estimator in (*TEXTS, *RECORDS):
        return "not of texts or records"
    if oracle == "weights" and not has_fit_parameter(card.load(), "sample_weight"):
        return "no weights of rows"
    if oracle == "weight_units" and not card.load().relative_weights:
        return "the sum of the weights matters"
    if oracle == "jobs" and "n_jobs" not in signature_of(card.load()):
        return "no n_jobs"
    return exemptions.CLASSES.get(estimator, {}).get(oracle, "")


def run_case(estimator: str, oracle: str, seed: int) -> Outcome:
    """The outcome of a case, which is the same every time."""
    reason = never_applies(estimator, oracle)
    if reason:
        return Outcome("skipped", text=reason)
    rng = np.random.default_rng([zlib.crc32(estimator.encode()), zlib.crc32(oracle.encode()), seed])
    Case.notes = {}
    try:
        ORACLES[oracle](card_of(estimator), rng)
    except Failure as found:
        return Outcome("failed", found.kind, found.text, found.place, found.trace)
    except Refused as found:
        return Outcome("refused", text=str(found))
    except DoesNotApply as found:
        return Outcome("skipped", text=str(found))
    except Exception as error:  # an oracle must not fail itself
        found = failure(f"oracle {type(error).__name__}", error)
        return Outcome("failed", found.kind, found.text, found.place, found.trace)
    return Outcome("passed")


def replay(estimator: str, oracle: str, seed: int) -> str:
    """The command that runs a case alone and shows it."""
    return f"python -m tests.fuzz {estimator} --oracle {oracle} --seed {seed} --replay"


def signature(failed: dict[str, Any]) -> tuple[str, str, str, str]:
    """What makes two failures the same: estimator, oracle, what happened, and where."""
    return failed["estimator"], failed["oracle"], failed["kind"], failed["place"]
