"""Sentences of the library in the words of the command line: options, not parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from equipoise.cli.names import CONSTRAINTS

if TYPE_CHECKING:
    from equipoise.constraints import Constraint

_NAMES = {kind: name for name, kind in CONSTRAINTS.items()} | {
    "BoundedGroupLoss": "group-error",
    "MinimaxGroupLoss": "minimax",
}
_CLASS = rf"(?<!')\b({'|'.join(_NAMES)})\b(?:\([^()]*\))?"

#: What Python calls something -> what is typed here. The order counts: whole phrases come first.
_SPELLINGS: tuple[tuple[str, str], ...] = (
    (r"\b[A-Z]\w+\(positive=('[^']*'|[^,)]+)(?:, \.\.\.)?\)", r"--positive \1"),
    (r"Raise max_iter, or accept a larger nu\.", "Raise --max-iter, or accept that gap."),
    (r"Allow more rounds with max_iter, or a larger nu\.", "Allow more rounds with --max-iter."),
    (r"; fit with a smaller nu, or with a checkpoint, to go on\.", "."),
    (r" See certificate_\.| A smaller nu than \S+ decides it\.", ""),
    (r"\bevidence=False\b", "--no-evidence"),
    (r"\beps of (?=[A-Z])", "--eps of "),
    (r"\bdecision is None;", "no --decision is given;"),
    (r"Pass key=\.\.\., whatever identifies a person\.", "Pass --id, without repeats."),
    (r"; or FairClassifier where there are labels", ""),
    (r"missing='ignore'", "--missing-groups ignore"),
    (r"\b(oracle|by|proof|fallback)='(\w+)'", r"--\1 \2"),
    (r"\bmin_size=(\d+) of a constraint \(--min-size \1\)", r"--min-size \1"),
    (r"\b(cv|max_iter|min_size|suppress_below)=(\d+)", r"--\1 \2"),
    (r"(?<!['-])\b(max_iter|min_size|suppress_below)\b", r"--\1"),
    (r"(?<!['-])\brandom_state\b", "--seed"),
    (r"(?<!['-])\bsample_weight\b", "--weight"),
    (r"(?<!['-])\bsensitive_features\b", "--sensitive"),
    (r"(?<!['-])\bcontrol_features\b", "--control"),
)


def in_options(text: str) -> str:
    """Return a sentence that names options and constraints as they are typed.

    >>> in_options("the gap is 0.01. Raise max_iter, or accept a larger nu.")
    'the gap is 0.01. Raise --max-iter, or accept that gap.'
    >>> in_options("FourFifthsRule is about two labels; use DemographicParity or oracle='plugin'.")
    'four-fifths is about two labels; use dp or --oracle plugin.'
    """
    for pattern, spelled in _SPELLINGS:
        text = re.sub(pattern, spelled, text)
    text = re.sub(r"--\w+", lambda found: found[0].replace("_", "-"), text)
    return re.sub(_CLASS, lambda found: _NAMES[found[1]], text)


def spelled(constraint: Constraint) -> str:
    """Return a constraint by its name, and with the options that were given.

    >>> from equipoise.constraints import DemographicParity
    >>> spelled(DemographicParity(eps=0.02, reference="pairwise"))
    'demographic parity (--eps 0.02 --reference pairwise)'
    """
    if repr(constraint).partition("(")[0] not in _NAMES:
        return repr(constraint)  # of one's own
    given, plain = constraint.get_params(), type(constraint)().get_params()
    lines = []
    for name, value in given.items():
        option = {"bound": "eps"}.get(name, name).replace("_", "-")
        if option == "eps" and (value != plain[name] or plain[name]):
            lines.append(f"--eps {value:.6g}" if isinstance(value, float) else f"--eps {value}")
        elif value != plain[name]:
            each = value if isinstance(value, list) else [value]
            lines += [f"--{option} {entry}" for entry in each]
    return constraint.name + (f" ({' '.join(lines)})" if lines else "")
