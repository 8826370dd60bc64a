# Written by `make names`.
__all__: list[str] = []
