from tercet.decomposition.matrix_losses import divergence_loss, squared_loss
from tercet.decomposition.mini_batch_nmf import MiniBatchNMF
from tercet.decomposition.multiplicative_updates import gradient_step, multiplicative_step
from tercet.decomposition.nmf import NMF, non_negative_factorization
from tercet.decomposition.nndsvd import nndsvd
from tercet.decomposition.rank_selection import RankSelection, held_out_rank

__all__ = [
    "NMF",
    "MiniBatchNMF",
    "RankSelection",
    "divergence_loss",
    "gradient_step",
    "held_out_rank",
    "multiplicative_step",
    "nndsvd",
    "non_negative_factorization",
    "squared_loss",
]
