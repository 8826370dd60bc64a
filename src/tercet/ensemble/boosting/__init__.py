"""Boosting: members fitted one after the other."""
