"""Warnings and errors of equipoise. Most errors are builtin exceptions and scikit-learn's.

UserWarning
└── EquipoiseWarning
    ├── SmallGroupWarning    a group is too small to be constrained by itself
    ├── FrozenLearnerWarning the learner answers alike whatever it is trained for
    ├── LabelWeightWarning   the learner weighs the labels itself, by class_weight or its like
    ├── FewPeopleWarning     a file that is written counts people in groups of few
    ├── RareLabelWarning     few people have one of several labels
    ├── ManyGroupsWarning    there are so many groups that some of them can hardly be meant
    ├── EmptyCellWarning     nobody is in a group or cell, so a constraint on it was left out
    ├── InfeasibleWarning    no classifier that the learner can find meets the constraints
    ├── CheckpointWarning    a file of a checkpoint is damaged or another fit's, and was not used
    ├── ConstantDecisionWarning   a result selects nobody, or everybody
    ├── NothingComparedWarning    there is one group only, or bounds that nothing can exceed
    ├── AbsentGroupWarning        a group is in the fit or among the people measured, not in both
    ├── RepeatedBatchWarning      a monitor is given people whom it has counted before
    ├── LargePriceWarning    bounds cost much, and a way is known by which they would cost less
    ├── SharedDrawWarning    people of equal rows share a draw, which may undo a bound
    ├── TiedRowsWarning      of people with equal rows some are selected, by their order
    ├── LotteryWarning            one rule was asked for, yet some people are decided at random
    ├── NotProvenWarning          the bounds are not proven for people who were not seen
    ├── ReusedPeopleWarning       the people of a proof had served another one
    └── SeenPeopleWarning         some people of a proof were learned from

ValueError
├── ModelFileError           a model file is damaged, of a newer version, or no model file
│   └── UntrustedTypeError   it holds types that loading was not told to trust
└── MonitorStateError        the state of a monitor is damaged, or of another model

AttributeError, ValueError
└── NoEvidenceError          an attribute that a model file has left out, see equipoise.save

RuntimeError
├── DeploymentError          a classifier does not decide as it did when it was measured
├── NotProvenError           a classifier whose bounds are not proven is asked to decide
└── EngineError              a cluster failed again and again; what was found is kept
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class EquipoiseWarning(UserWarning):
    """Parent of the warnings of this package."""


class EmptyCellWarning(EquipoiseWarning):
    """Nobody is in a group or cell, so the constraint on it was left out."""


class SmallGroupWarning(EquipoiseWarning):
    """A group has fewer people than asked for, and was merged with others or left out."""


class FrozenLearnerWarning(EquipoiseWarning):
    """The learner gave one answer to different queries: it may not use labels and weights."""


class LabelWeightWarning(EquipoiseWarning):
    """The learner weighs the labels itself, which the objective of the fit knows nothing of."""


class FewPeopleWarning(EquipoiseWarning):
    """A file that is written counts people in groups of few: whoever reads it can count them."""


class RareLabelWarning(EquipoiseWarning):
    """Few people have one of three or more labels: rates among them are mostly chance."""


class ManyGroupsWarning(EquipoiseWarning):
    """A constraint compares so many groups that a number was perhaps not put into bins."""


class InfeasibleWarning(EquipoiseWarning):
    """The constraints cannot be met with this learner; the least relaxation was used instead."""


class CheckpointWarning(EquipoiseWarning):
    """A file of a checkpoint is damaged or belongs to another fit; its answer is computed again."""


class ConstantDecisionWarning(EquipoiseWarning):
    """A result selects nobody, or everybody."""


class NothingComparedWarning(EquipoiseWarning):
    """There is one group only, or no decisions could exceed the bounds."""


class AbsentGroupWarning(EquipoiseWarning):
    """A group is in the fit or among the people measured, not in both: nothing is known of it."""


class RepeatedBatchWarning(EquipoiseWarning):
    """A monitor is given people whom it has counted before; they count again."""


class LargePriceWarning(EquipoiseWarning):
    """The bounds cost much error, and decisions that see the group would pay much less."""


class SharedDrawWarning(EquipoiseWarning):
    """People of equal rows share one draw, so that decisions may exceed a bound that is met."""


class TiedRowsWarning(EquipoiseWarning):
    """Some people with equal rows are selected and others are not, by their order in the table."""


class LotteryWarning(EquipoiseWarning):
    """One rule was asked for, but none does as well as the mixture, which decides at random."""


class NotProvenWarning(EquipoiseWarning):
    """The bounds were put to the proof and are not proven for people who were not seen."""


class RegardlessWarning(EquipoiseWarning):
    """A proof needed decisions that are made at random, regardless of who it is: too few people."""


class ReusedPeopleWarning(EquipoiseWarning):
    """The people of a proof had served another one, so that the better of both proves less."""


class SeenPeopleWarning(EquipoiseWarning):
    """People of a proof, or of a monitor's day, were learned from or equal somebody who was."""


class ModelFileError(ValueError):
    """A file is not a model file that can be read, or a model cannot be kept in a file."""


class UntrustedTypeError(ModelFileError):
    """A model file holds types that loading was not told to trust; ``types`` names them."""

    def __init__(self, types: list[str]) -> None:
        self.types = types
        super().__init__(
            f"the model file holds types that are not trusted: {', '.join(types)}. Making objects "
            "of a type runs that type's code. If you know where the file comes from, allow them: "
            f"load(path, trusted={types!r})."
        )


class NoEvidenceError(AttributeError, ValueError):
    """An attribute of a model that was saved without its evidence is asked for."""


class MonitorStateError(ValueError):
    """A file is not the state of a monitor that can be read, or that of another model."""


class DeploymentError(RuntimeError):
    """A classifier, asked about the same rows again, does not decide as it was recorded to."""


class NotProvenError(RuntimeError):
    """A classifier whose bounds are not proven is asked to decide, and no fallback was named."""


class EngineError(RuntimeError):
    """Work on a cluster failed more often than it may; what was found until then is kept."""


@contextmanager
def needing(what: str, install: str, instead: str = "") -> Iterator[None]:
    """Say of an import that fails what it was for, how to install it, and what else would do.

    >>> with needing("pictures need", "'equipoise[plot]'"):
    ...     import matplotlib_of_nobody
    Traceback (most recent call last):
    ImportError: pictures need matplotlib_of_nobody, which is not installed: pip install \
'equipoise[plot]'.
    """
    try:
        yield
    except ImportError as error:
        name = (error.name or "").partition(".")[0]
        text = f"{what} {name}, which is not installed: pip install {install}."
        raise ImportError(f"{text} {instead}".rstrip()) from error
