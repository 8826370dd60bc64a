# Written by `make names`.
from sklearn.utils.murmurhash import (
    murmurhash3_32,
    murmurhash3_bytes_s32,
    murmurhash3_bytes_u32,
    murmurhash3_int_s32,
    murmurhash3_int_u32,
)

__all__ = [
    "murmurhash3_32",
    "murmurhash3_bytes_s32",
    "murmurhash3_bytes_u32",
    "murmurhash3_int_s32",
    "murmurhash3_int_u32",
]
