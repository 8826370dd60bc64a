# Written by `make names`.
from tercet.core.lazy import pass_on

pass_on(__name__)
