"""Combination features: crossed categories and the paths of trees."""
