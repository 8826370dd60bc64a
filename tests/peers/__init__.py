"""The peers' own tests, run on our classes."""
