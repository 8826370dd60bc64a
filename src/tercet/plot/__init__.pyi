from tercet.plot.bayes import (
    plot_densities,
)
from tercet.plot.calibration import (
    plot_calibration,
)
from tercet.plot.candidates import (
    plot_hidden_sizes,
    plot_starts,
)
from tercet.plot.chains import (
    plot_autocorrelation,
    plot_chain_densities,
    plot_trace,
)
from tercet.plot.clusters import (
    match_colours,
    plot_clusters,
    plot_dendrogram,
    plot_reachability,
    plot_silhouette,
)
from tercet.plot.comparison import (
    plot_importance,
    plot_intervals,
    plot_learning_curve,
    plot_learning_curves,
)
from tercet.plot.complexity import (
    plot_complexity,
)
from tercet.plot.components import (
    plot_biplot,
    plot_scree,
)
from tercet.plot.confusion import (
    plot_confusion,
)
from tercet.plot.cost_curve import (
    plot_cost_curve,
)
from tercet.plot.critical_difference import (
    plot_critical_difference,
)
from tercet.plot.dependencies import (
    plot_dependencies,
)
from tercet.plot.dictionaries import (
    plot_atoms,
    plot_singular_values,
)
from tercet.plot.discretization import (
    plot_bins,
)
from tercet.plot.diversity import (
    plot_kappa_error,
)
from tercet.plot.embeddings import (
    plot_embedding,
    plot_shepard,
)
from tercet.plot.energy_networks import (
    plot_energy,
    plot_filters,
    plot_recall,
    replay_recall,
)
from tercet.plot.explanations import (
    plot_contributions,
    plot_partial_dependence,
)
from tercet.plot.gains import (
    plot_gain,
    plot_lift,
)
from tercet.plot.graphs import (
    plot_convergence,
    plot_graph,
)
from tercet.plot.hidden_units import (
    plot_cascade,
    plot_hidden_states,
    plot_layer_weights,
    plot_rbf_units,
)
from tercet.plot.learning import (
    film_picture,
    plot_fit,
    plot_history,
    plot_regions,
    replay,
)
from tercet.plot.metrics import (
    plot_metric,
)
from tercet.plot.mixtures import (
    plot_mixture,
)
from tercet.plot.models import (
    picture,
    plot_coefficients,
    plot_model,
)
from tercet.plot.monte_carlo import (
    plot_envelope,
    plot_estimate,
    plot_state_distribution,
)
from tercet.plot.neighbors import (
    plot_cells,
    plot_kd_tree,
)
from tercet.plot.networks import (
    plot_messages,
    plot_network,
)
from tercet.plot.pac import (
    plot_pac,
)
from tercet.plot.piecewise_linear import (
    plot_pieces,
)
from tercet.plot.precision_recall import (
    plot_precision_recall,
)
from tercet.plot.proofs import (
    plot_proof,
)
from tercet.plot.regression import (
    plot_predictions,
    plot_residuals,
)
from tercet.plot.reinforcement import (
    plot_episode,
    plot_regret,
    plot_returns,
    plot_values,
    plot_visits,
)
from tercet.plot.roc import (
    plot_det,
    plot_roc,
)
from tercet.plot.rules import (
    plot_rule_boxes,
    plot_rules,
)
from tercet.plot.score_distributions import (
    plot_score_distributions,
)
from tercet.plot.self_organizing import (
    plot_category_boxes,
    plot_component_planes,
    plot_hit_map,
    plot_som_grid,
    plot_u_matrix,
)
from tercet.plot.semi_supervised import (
    plot_label_curve,
    plot_labels,
    plot_spreading,
)
from tercet.plot.sequences import (
    plot_path,
    plot_transitions,
)
from tercet.plot.styling import (
    style,
)
from tercet.plot.svg import (
    to_svg,
)
from tercet.plot.svm import (
    plot_margins,
)
from tercet.plot.topics import (
    plot_top_words,
    plot_topic_map,
)
from tercet.plot.trees import (
    plot_tree,
)

__all__ = [
    "film_picture",
    "match_colours",
    "picture",
    "plot_atoms",
    "plot_autocorrelation",
    "plot_bins",
    "plot_biplot",
    "plot_calibration",
    "plot_cascade",
    "plot_category_boxes",
    "plot_cells",
    "plot_chain_densities",
    "plot_clusters",
    "plot_coefficients",
    "plot_complexity",
    "plot_component_planes",
    "plot_confusion",
    "plot_contributions",
    "plot_convergence",
    "plot_cost_curve",
    "plot_critical_difference",
    "plot_dendrogram",
    "plot_densities",
    "plot_dependencies",
    "plot_det",
    "plot_embedding",
    "plot_energy",
    "plot_envelope",
    "plot_episode",
    "plot_estimate",
    "plot_filters",
    "plot_fit",
    "plot_gain",
    "plot_graph",
    "plot_hidden_sizes",
    "plot_hidden_states",
    "plot_history",
    "plot_hit_map",
    "plot_importance",
    "plot_intervals",
    "plot_kappa_error",
    "plot_kd_tree",
    "plot_label_curve",
    "plot_labels",
    "plot_layer_weights",
    "plot_learning_curve",
    "plot_learning_curves",
    "plot_lift",
    "plot_margins",
    "plot_messages",
    "plot_metric",
    "plot_mixture",
    "plot_model",
    "plot_network",
    "plot_pac",
    "plot_partial_dependence",
    "plot_path",
    "plot_pieces",
    "plot_precision_recall",
    "plot_predictions",
    "plot_proof",
    "plot_rbf_units",
    "plot_reachability",
    "plot_recall",
    "plot_regions",
    "plot_regret",
    "plot_residuals",
    "plot_returns",
    "plot_roc",
    "plot_rule_boxes",
    "plot_rules",
    "plot_score_distributions",
    "plot_scree",
    "plot_shepard",
    "plot_silhouette",
    "plot_singular_values",
    "plot_som_grid",
    "plot_spreading",
    "plot_starts",
    "plot_state_distribution",
    "plot_top_words",
    "plot_topic_map",
    "plot_trace",
    "plot_transitions",
    "plot_tree",
    "plot_u_matrix",
    "plot_values",
    "plot_visits",
    "replay",
    "replay_recall",
    "style",
    "to_svg",
]
