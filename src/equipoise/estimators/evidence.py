"""Evidence: the attributes of a fitted model that count people, and what is said without them."""

from __future__ import annotations

from typing import Any

from equipoise.exceptions import NoEvidenceError

#: Attributes that count people; `equipoise.save` can leave them out. Decisions need none of them.
EVIDENCE = (
    *("certificate_", "tallies_", "violations_", "people_", "proof_", "proofs_", "candidates_"),
    *("cells_", "exact_difference_", "exact_violation_", "constant_loss_"),
)


class _Evidence:
    """An attribute that a fit sets; where it is missing, what to do is said."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self
        if not vars(model).get("evidence_left_out_"):
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {self.name!r}")
        raise NoEvidenceError(
            f"{self.name} is not in this model: its file was written without evidence "
            "(evidence=False), so that it decides and tells nothing about people. Load the file "
            "that has the evidence, or fit anew."
        )


class HasEvidence:
    """A fitted model, whose evidence a model file may have left out."""


for _name in EVIDENCE:
    setattr(HasEvidence, _name, _Evidence(_name))
