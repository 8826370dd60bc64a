"""The hashing trick: columns and buckets by a hash of names and values."""
