"""The game between learner and multipliers (section 3)."""

from equipoise.game.certificate import Certificate
from equipoise.game.column_generation import column_generation, many_bounds
from equipoise.game.exponentiated_gradient import exponentiated_gradient
from equipoise.game.lagrangian import Lagrangian
from equipoise.game.mixture import Mixture
from equipoise.game.objectives import BalancedError, Costs, PersonCosts
from equipoise.game.rounds import Limits, Oracle, Outcome, Pool, Reason, Response, Round, run

__all__ = [
    "BalancedError",
    "Certificate",
    "Costs",
    "PersonCosts",
    "Lagrangian",
    "Limits",
    "Mixture",
    "Oracle",
    "Outcome",
    "Pool",
    "Reason",
    "Response",
    "Round",
    "column_generation",
    "exponentiated_gradient",
    "many_bounds",
    "run",
]
