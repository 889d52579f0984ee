"""Why this person: what was decided, by which members, and how it would be without constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cells.table import Array
from equipoise.engines import engine_for
from equipoise.faces import Columns, Face
from equipoise.oracles.decisions import decisions
from equipoise.oracles.scores import score_with_cut
from equipoise.rows.tables import Batched

#: Rows that print() shows.
_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Explanation(Face):
    """What was decided about some rows, and why; m is the number of members.

    Attributes
    ----------
    classes : array of V labels
    decision : array of shape (n,)
        As ``predict`` gives it.
    probability : array of shape (n,)
        Of being selected, over the draw of a member; of V > 2 decisions that of each, (n, V).
    drawn : array of bool, shape (n,)
        Whether the draw mattered: members decide differently about the person.
    member : array of int, shape (n,)
        The member that was drawn, from 0; where ``drawn`` is False all of them decide the same.
    weights : array of shape (m,)
        The probability of each member.
    selects : array of bool, shape (n, m)
        Whom each member selects; of V > 2 decisions the number of each member's.
    scores : array of shape (n, m)
        Each member's score; NaN where it gives none, or does not decide by it, and of V > 2
        decisions, between which there is no one cut.
    cuts : array of shape (m,)
        The score above which a member selects; NaN where it gives no scores.
    chance : array of shape (n,)
        Of the label, see ``label_proba``; NaN where it is not known. Of V > 2 labels that of
        each, (n, V).
    unconstrained : array of shape (n,) or None
        What the unconstrained model would have decided; None where it is not known.
    """

    classes: NDArray
    decision: NDArray
    probability: Array
    drawn: NDArray[np.bool_]
    member: NDArray[np.intp] = field(repr=False)
    weights: Array
    selects: NDArray = field(repr=False)
    scores: Array = field(repr=False)
    cuts: Array = field(repr=False)
    chance: Array = field(repr=False)
    unconstrained: NDArray | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.decision)

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Who is decided on otherwise than by the unconstrained model."""
        if self.unconstrained is None:
            raise AttributeError("this fit did not keep an unconstrained model to compare with.")
        return self.decision != self.unconstrained

    def _columns(self) -> Columns:
        columns: dict[str, Any] = {
            "decision": self.decision,
            **self._by_decision("probability", "probability of", self.probability),
            "drawn": self.drawn,
            "member": self.member,
            **self._by_decision("chance of label", "chance of label", self.chance),
        }
        if self.unconstrained is not None:
            columns |= {"unconstrained": self.unconstrained, "differs": self.differs}
        for j, weight in enumerate(self.weights):
            columns[f"member {j} decides"] = self.classes[self.selects[:, j].astype(np.intp)]
            if len(self.classes) == 2:
                columns[f"member {j} score"] = self.scores[:, j]
                columns[f"member {j} cut"] = np.full(len(self), self.cuts[j])
            columns[f"member {j} weight"] = np.full(len(self), weight)
        return columns

    def _by_decision(self, name: str, of_each: str, values: Array) -> dict[str, Array]:
        """Return a column, or one for each of more than two decisions."""
        if values.ndim == 1:
            return {name: values}
        return {f"{of_each} {label}": values[:, v] for v, label in enumerate(self.classes)}

    def sentences(self, row: int) -> list[str]:
        """Return what is known of the decision about one row, in words."""
        parts = [f"{self.decision[row]!s}, {self._how(row)}"]
        parts += [text for j in range(len(self.weights)) if (text := self._member(row, j))]
        if not np.isnan(self.chance[row]).any():
            if len(self.classes) > 2:
                parts.append(f"Chance of each label: {self._shares(self.chance[row])}")
            else:
                favourable = f"Chance of the label {self.classes[1]!s}"
                parts.append(f"{favourable}: {self.chance[row]:.3f}")
        if self.unconstrained is not None:
            same = "the same" if not self.differs[row] else f"{self.unconstrained[row]!s}"
            parts.append(f"Without constraints: {same}")
        return [f"{part}." for part in parts]

    def _shares(self, values: Array) -> str:
        """Return the decisions that have a share, the largest first."""
        order = [v for v in np.argsort(-values, kind="stable") if values[v] > 0]
        return ", ".join(f"{self.classes[v]!s} {values[v]:.3f}" for v in order)

    def _how(self, row: int) -> str:
        if self.drawn[row] and len(self.classes) > 2:
            return f"drawn, with the probabilities {self._shares(self.probability[row])}"
        if self.drawn[row]:
            share = self.probability[row]
            return f"drawn: {self.classes[1]!s} had a probability of {share:.3f}"
        n = len(self.weights)
        if n == 1:
            return "by a fixed rule"
        return f"not drawn: {'both' if n == 2 else f'all {n}'} members agree"

    def _member(self, row: int, j: int) -> str:
        score, cut = self.scores[row, j], self.cuts[j]
        name = f"Member {j}"
        if self.drawn[row]:
            says = self.classes[int(self.selects[row, j])]
            was = ", which was drawn," if self.member[row] == j else ""
            name += f" (weight {self.weights[j]:.3f}){was} says {says!s}"
        if np.isnan(score):
            return name if self.drawn[row] else ""
        return f"{name}: score {score:.4g}, {'above' if score > cut else 'not above'} {cut:.4g}"

    def __str__(self) -> str:
        shown = range(min(len(self), _SHOWN))
        lines = [f"Row {row}: " + "\n  ".join(self.sentences(row)) for row in shown]
        if len(self) > _SHOWN:
            lines.append(f"... {len(self) - _SHOWN:,} more rows: to_pandas() has all of them.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown, left = range(min(len(self), _SHOWN)), "text-align:left"
        rows = "".join(
            f'<tr><th>{row}</th><td style="{left}">'
            f"{'<br>'.join(map(escape, self.sentences(row)))}</td></tr>"
            for row in shown
        )
        rest = len(self) - len(shown)
        more = f"<p>{rest:,} more rows: <code>to_pandas()</code></p>" if rest else ""
        head = f'<tr><th>row</th><th style="{left}">decision</th></tr>'
        return f"<table>{head}{rows}</table>{more}"


def explain(mixture: Any, X: Any, unconstrained: Any = None, *, key: Any = None) -> Explanation:
    """Explain decisions about rows in memory; see `equipoise.FairClassifier.explain`.

    Parameters
    ----------
    unconstrained : UnconstrainedModel, optional
        What to compare with.
    """
    if not engine_for(X).is_local or isinstance(X, Batched):
        raise TypeError(
            f"X is a {type(X).__name__}, whose rows are not in memory; expected a table of the "
            "rows to explain. Explain the rows in question, or all of a Dask data frame by "
            "partition: X.map_partitions(lambda rows: model.explain(rows).to_pandas())."
        )
    V = len(mixture.classes_)
    selects = np.column_stack(list(decisions(mixture.members, X, V)))
    n, m = selects.shape
    scores, cuts = np.full((n, m), np.nan), np.full(m, np.nan)
    for j, member in enumerate(mixture.members if V == 2 else ()):
        if (scored := score_with_cut(member, X)) is not None:
            cuts[j] = scored.cut
            scores[:, j] = np.where(scored.decides(selects[:, j]), scored.score, np.nan)
    member = mixture.draw(X, key=key)
    decided = selects[np.arange(n), member]
    chance = np.full(n if V == 2 else (n, V), np.nan)
    if unconstrained is not None and not unconstrained.why_no_probabilities():
        chance = unconstrained.label_proba(X)
        chance = chance[:, 1] if V == 2 else chance
    probability = (
        np.clip(selects @ mixture.weights, 0.0, 1.0) if V == 2 else mixture.predict_proba(X)
    )
    return Explanation(
        classes=mixture.classes_,
        decision=mixture.classes_[decided.astype(np.intp)],
        probability=probability,
        drawn=np.ptp(selects.astype(np.int8), axis=1) > 0,
        member=member,
        weights=mixture.weights,
        selects=selects,
        scores=scores,
        cuts=cuts,
        chance=chance,
        unconstrained=None if unconstrained is None else unconstrained.predict(X),
    )
