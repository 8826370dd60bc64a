"""The fuzzer: `python -m tests.fuzz`, or `make fuzz`. See `__main__` for how to run it and replay a case."""
