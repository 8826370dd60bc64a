"""Topic models: latent semantic analysis, PLSA and latent Dirichlet allocation."""

from tercet.core.lazy import lazy_package

lazy_package(__name__)
