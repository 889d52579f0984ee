"""Constraints: g, events, M and c (section 2)."""
