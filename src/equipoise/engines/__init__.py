"""Engines: where rows are kept."""
