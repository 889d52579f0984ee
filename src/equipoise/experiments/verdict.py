"""The verdict: does the reduction dominate or match each baseline, up to statistical uncertainty?

A pure function of the table of comparisons, see `equipoise.experiments.comparisons`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Literal

import numpy as np
from scipy.stats import norm

from equipoise.experiments.measurements import Row, grouped, number

Judgement = Literal["dominates", "matches", "loses"]
JUDGEMENTS: tuple[Judgement, ...] = ("dominates", "matches", "loses")

#: Chance of a verdict other than "matches" where there is no difference.
_LEVEL = 0.05


@dataclass(frozen=True)
class Verdict:
    """A reduction judged against one baseline in one panel, the mean of all splits.

    Loses: for some setting of the baseline the reduction errs more, beyond uncertainty, or cannot
    get as fair, beyond uncertainty. Dominates: for some setting it errs less, beyond uncertainty,
    and it does not lose. Matches: neither. Numbers are those of the setting that decided, or of the
    one with the largest difference.
    """

    problem: str
    learner: str
    notion: str
    reduction: str
    baseline: str  #: "reweighting" is as published; "reweighting, any setting" all interpolants.
    difference: float  #: Error of the reduction minus that of the baseline,
    margin: float  #: and what chance can do to it.
    excess: float  #: By how much it violates more: above zero only where it cannot get as fair.
    unreachable: bool  #: Whether ``excess`` is beyond uncertainty.
    train_difference: float  #: The largest, on the people learned from; NaN where none compares.
    settings: int = 1  #: Settings of the baseline that were compared.

    @property
    def score(self) -> float:
        """By how much a difference is beyond uncertainty: above zero where the reduction loses."""
        if self.unreachable:
            return 1.0 + self.excess  # no error makes up for it
        beyond = abs(self.difference) - self.margin
        return float(np.sign(self.difference) * max(beyond, 0.0))

    @property
    def judgement(self) -> Judgement:
        """Say "dominates", "matches" or "loses"."""
        return JUDGEMENTS[1 + int(np.sign(self.score))]


def judge(comparisons: Iterable[Row]) -> list[Verdict]:
    """Judge every reduction against every baseline in every panel.

    Differences are means over the splits. Their standard errors are means too: splits of the same
    people are no independent samples, so more of them do not make it smaller. Where several
    settings of a baseline are compared, the level is divided by their number (Bonferroni).

    Examples
    --------
    >>> row = dict(problem="p", learner="l", notion="DP", seed=0, reduction="r", baseline="b",
    ...            setting=1.0, published=1, difference=-0.02, standard_error=0.001,
    ...            excess=0.0, excess_standard_error=0.01, train_difference=-0.01)
    >>> judge([row])[0].judgement
    'dominates'
    >>> judge([row | {"difference": 0.001}])[0].judgement
    'matches'
    """
    verdicts = []
    for _, rows in grouped(comparisons, "problem", "learner", "notion", "reduction", "baseline"):
        published = [row for row in rows if row["published"]]
        name = str(rows[0]["baseline"])
        if published:
            verdicts.append(_verdict(name, published))
            name = f"{name}, any setting"
        if len(published) < len(rows):
            verdicts.append(_verdict(name, rows))
    return verdicts


def _verdict(baseline: str, rows: list[Row]) -> Verdict:
    settings = [group for _, group in grouped(rows, "setting")]
    quantile = float(norm.ppf(1 - _LEVEL / (2 * len(settings))))
    duels = [_duel(baseline, group, quantile) for group in settings]
    deciding = max(duels, key=lambda duel: duel.score)
    if deciding.score <= 0:
        deciding = min(duels, key=lambda duel: duel.score)
    if deciding.score == 0:
        deciding = max(duels, key=lambda duel: duel.difference)
    on_train = [d.train_difference for d in duels if not np.isnan(d.train_difference)]
    worst = max(on_train, default=float("nan"))
    return replace(deciding, settings=len(duels), train_difference=worst)


def _duel(baseline: str, rows: list[Row], quantile: float) -> Verdict:
    """Return the verdict on one setting of a baseline."""

    def mean(name: str) -> float:
        return float(np.mean([number(row, name) for row in rows]))

    problem, learner, notion, reduction = (
        str(rows[0][name]) for name in ("problem", "learner", "notion", "reduction")
    )
    return Verdict(
        *(problem, learner, notion, reduction, baseline),
        difference=mean("difference"),
        margin=quantile * mean("standard_error"),
        excess=mean("excess"),
        unreachable=mean("excess") > quantile * mean("excess_standard_error"),
        train_difference=mean("train_difference"),
    )


def write_markdown(verdicts: Sequence[Verdict]) -> str:
    """Write the verdicts as Markdown: counts first, then every panel with its numbers."""
    preface = (
        files("equipoise.experiments").joinpath("texts/verdict.md").read_text("utf-8").rstrip()
    )
    parts = [preface, "## Panels: dominates / matches / loses", _counts(verdicts)]
    reductions = list(dict.fromkeys(v.reduction for v in verdicts))
    for (learner, notion), group in grouped(verdicts, "learner", "notion"):
        parts += [f"## {learner}, {notion}", _panel_table(group, reductions)]
    return "\n\n".join(parts) + "\n"


def _counts(verdicts: Sequence[Verdict]) -> str:
    learners = list(dict.fromkeys(v.learner for v in verdicts))
    lines = ["| reduction | baseline | " + " | ".join(learners) + " | train |"]
    lines.append("| --- " * (3 + len(learners)) + "|")
    for (reduction, baseline), group in grouped(verdicts, "reduction", "baseline"):
        cells = " | ".join(_tally(v for v in group if v.learner == name) for name in learners)
        seen = [v.train_difference for v in group if not np.isnan(v.train_difference)]
        worst = f"{max(seen):+.4f}" if seen else ""
        lines.append(f"| {reduction} | {baseline} | {cells} | {worst} |")
    return "\n".join(lines)


def _tally(verdicts: Iterable[Verdict]) -> str:
    counted = Counter(v.judgement for v in verdicts)
    return " / ".join(str(counted[judgement]) for judgement in JUDGEMENTS) if counted else ""


def _panel_table(verdicts: list[Verdict], reductions: Sequence[str]) -> str:
    lines = ["| data | baseline | " + " | ".join(reductions) + " |"]
    lines.append("| --- " * (2 + len(reductions)) + "|")
    for (problem, baseline), group in grouped(verdicts, "problem", "baseline"):
        said = {v.reduction: _cell(v) for v in group}
        cells = " | ".join(said.get(reduction, "") for reduction in reductions)
        lines.append(f"| {problem} | {baseline} | {cells} |")
    return "\n".join(lines)


def _cell(verdict: Verdict) -> str:
    word = f"**{verdict.judgement}**" if verdict.judgement == "loses" else verdict.judgement
    text = f"{word} {verdict.difference:+.4f} ± {verdict.margin:.4f}"
    if verdict.unreachable:
        return f"{text}, less fair by {verdict.excess:.4f}"
    return f"{text} ({verdict.excess:.4f})" if verdict.excess > 0 else text
