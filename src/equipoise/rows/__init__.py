"""Rows: what users pass, as arrays."""

from equipoise.rows.parquet import ParquetRows
from equipoise.rows.people import People
from equipoise.rows.probabilities import Probabilities

__all__ = ["ParquetRows", "People", "Probabilities"]
