"""Data sets for fair classification, in the conventions of :mod:`sklearn.datasets`.

A loader returns a :class:`sklearn.utils.Bunch` whose ``sensitive`` holds the sensitive features
beside the usual ``data`` and ``target``.
"""

from equipoise.datasets._adult import load_adult

__all__ = ["load_adult"]
