"""Cells: what a constraint may know about a row, as a table (section 2)."""

from equipoise.cells.table import Cells, CellTable

__all__ = ["CellTable", "Cells"]
