"""The experiments of the paper's section 4 and appendix D, by one command, and extensions.

``equipoise reproduce`` runs them; `reproduce` is the same as a function.
"""

from equipoise.experiments.command import reproduce

__all__ = ["reproduce"]
