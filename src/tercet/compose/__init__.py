# Written by `make names`.
import tercet  # noqa: F401 (waits for a thread that is importing it)
from tercet.core.lazy import pass_on

pass_on(__name__)
