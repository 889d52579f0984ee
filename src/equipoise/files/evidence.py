"""The evidence of a model: all that counts people, which a model file can leave out."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.pipeline import Pipeline

from equipoise.cells.table import CellTable
from equipoise.estimators.evidence import EVIDENCE
from equipoise.estimators.frontier import Frontier
from equipoise.estimators.grid_search import GridSearch
from equipoise.estimators.regression.frontier import RegressionFrontier
from equipoise.guarantees.proof import check_proven
from equipoise.metrics.few import FEW_LIMIT, cells_of_few


def without_evidence(model: Any) -> Any:
    """Return a model that decides, or predicts, as before, and has nothing that counts people."""
    copied = copy(model)
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        copied.steps = [*model.steps[:-1], (name, without_evidence(last))]
        return copied
    if isinstance(model, (Frontier, RegressionFrontier)):
        raise ValueError(
            "evidence is False, and a frontier finds its models in the evidence. Save one of them: "
            "save(frontier.at(eps), path, evidence=False)."
        )
    check_proven(model)  # a model that is not proven refuses to decide, and must not lose that
    removed = [name for name in EVIDENCE if name in vars(copied)]
    for name in removed:
        delattr(copied, name)
    if removed:
        copied.evidence_left_out_ = True
    return copied


def few_in_evidence(model: Any) -> str:
    """Return a sentence about groups of few people whom a model file counts, if there are some."""
    if isinstance(model, Pipeline):
        return few_in_evidence(model.steps[-1][1])
    cells = _cells(model)
    if cells is None:
        return ""
    few = cells_of_few(cells, FEW_LIMIT)
    if not few.any():
        return ""
    text = (
        f"the evidence in the file counts people in groups of fewer than {FEW_LIMIT}: whoever gets "
        "the file can read their numbers."
    )
    if isinstance(model, (Frontier, RegressionFrontier)):
        return f"{text} A model out of it can be saved without them: at(eps), evidence=False."
    return f"{text} With evidence=False it has no certificate, counts nobody and decides the same."


def _cells(model: Any) -> CellTable | None:
    """Return the cells of the people learned from, None where the model keeps none."""
    if isinstance(model, GridSearch):
        candidates = vars(model).get("candidates_")
        return candidates[0].tally.cells if candidates else None
    if tallies := vars(model).get("tallies_"):
        return next(iter(tallies.values())).cells
    return vars(model).get("cells_")
