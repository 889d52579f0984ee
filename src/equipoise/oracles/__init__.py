"""Oracles: best responses to costs of cells (section 3.1)."""
