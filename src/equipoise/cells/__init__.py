"""Cells: what a constraint may know about a row, as a table (section 2)."""
