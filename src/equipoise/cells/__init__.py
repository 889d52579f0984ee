"""Cells: what a constraint may know about a row, as a table (section 2)."""

from equipoise.cells.rows import Cells
from equipoise.cells.table import CellTable

__all__ = ["CellTable", "Cells"]
