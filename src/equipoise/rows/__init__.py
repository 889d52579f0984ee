"""Rows: what users pass, as arrays."""
