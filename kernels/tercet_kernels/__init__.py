"""Kernel packs of tercet: files that `tercet.core.kernel_pack` reads."""
