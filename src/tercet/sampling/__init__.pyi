from tercet.sampling.accept_reject import AcceptRejectSample, accept_reject
from tercet.sampling.alias_table import AliasTable
from tercet.sampling.direct_sampling import direct_sampling, discrete_sampling
from tercet.sampling.importance_sampling import ImportanceEstimate, importance_sampling
from tercet.sampling.long_run import (
    absorption_probabilities,
    after_steps,
    detailed_balance,
    entropy_rate,
    expected_stay,
    hitting_times,
    is_reversible,
    return_times,
    stationary_distribution,
    stationary_distributions,
    time_reversal,
)
from tercet.sampling.markov_chain import MarkovChain
from tercet.sampling.monte_carlo import (
    MonteCarloEstimate,
    monte_carlo_expectation,
    monte_carlo_integral,
)
from tercet.sampling.paths import sample_path, sample_paths, transition_counts
from tercet.sampling.state_classes import (
    absorbing_states,
    closed_classes,
    communicating_classes,
    is_aperiodic,
    is_irreducible,
    periods,
    recurrent_states,
    transient_states,
)

__all__ = [
    "AcceptRejectSample",
    "AliasTable",
    "ImportanceEstimate",
    "MarkovChain",
    "MonteCarloEstimate",
    "absorbing_states",
    "absorption_probabilities",
    "accept_reject",
    "after_steps",
    "closed_classes",
    "communicating_classes",
    "detailed_balance",
    "direct_sampling",
    "discrete_sampling",
    "entropy_rate",
    "expected_stay",
    "hitting_times",
    "importance_sampling",
    "is_aperiodic",
    "is_irreducible",
    "is_reversible",
    "monte_carlo_expectation",
    "monte_carlo_integral",
    "periods",
    "recurrent_states",
    "return_times",
    "sample_path",
    "sample_paths",
    "stationary_distribution",
    "stationary_distributions",
    "time_reversal",
    "transient_states",
    "transition_counts",
]
