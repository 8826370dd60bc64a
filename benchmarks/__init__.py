"""The standing benchmark: every row is one piece of work, ours and its peers by turns on one machine.

``python -m benchmarks`` runs it; a family of rows is one file, and `harness` says what a row is.
"""
