"""Regression: predictions that are numbers."""
