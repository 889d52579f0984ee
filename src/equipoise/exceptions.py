"""Warnings of equipoise. Errors are builtin exceptions and scikit-learn's.

UserWarning
└── EquipoiseWarning
    ├── SmallGroupWarning    a group is too small to be constrained by itself
    ├── EmptyCellWarning     nobody is in a group or cell, so a constraint on it was left out
    └── InfeasibleWarning    no classifier that the learner can find meets the constraints
"""

from __future__ import annotations


class EquipoiseWarning(UserWarning):
    """Parent of the warnings of this package."""


class EmptyCellWarning(EquipoiseWarning):
    """Nobody is in a group or cell, so the constraint on it was left out."""


class SmallGroupWarning(EquipoiseWarning):
    """A group has fewer examples than asked for, and was merged with others or left out."""


class InfeasibleWarning(EquipoiseWarning):
    """The constraints cannot be met with this learner; the least relaxation was used instead."""
