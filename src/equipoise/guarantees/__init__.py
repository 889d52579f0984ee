"""Guarantees: bounds that hold for people who were not seen, with a stated probability."""

from equipoise.guarantees.people_needed import Needed, people_needed
from equipoise.guarantees.proof import Proof

__all__ = ["Needed", "Proof", "people_needed"]
