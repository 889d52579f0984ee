"""The monitor: whether a model keeps its bounds on people to come, looked at as often as liked."""

from __future__ import annotations

import warnings
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from equipoise.cells.rows import Cells
from equipoise.cells.table import Array
from equipoise.engines import engine_for
from equipoise.estimators.base import overlap_of
from equipoise.estimators.decisions.scores import DecisionsMixin
from equipoise.estimators.guarantees.day import batch_digest, label_numbers, read_like
from equipoise.estimators.guarantees.monitor_state import read_state, write_state
from equipoise.estimators.guarantees.strata import RowStrata
from equipoise.exceptions import MonitorStateError, RepeatedBatchWarning, SeenPeopleWarning
from equipoise.faces import Columns, Face, Records, columns_of, paragraph, table
from equipoise.guarantees.e_process import EProcess
from equipoise.guarantees.people_needed import read_probability
from equipoise.rows.people import People
from equipoise.rows.validation import read_target, to_array

#: The excess that is looked for by default: the bound itself, but within these limits.
LEAST_DETECT, MOST_DETECT = 0.01, 0.05
#: The logarithm of the largest e-value that is told; there may be more evidence.
_MOST = 690.0


class MonitoredRow(NamedTuple):
    """One bound and the evidence against it, over all days.

    ``name`` is the bound in words, ``people`` are those it speaks of, ``fewest`` those that the
    rarest of its rates is of, ``value`` is what must not exceed ``bound``, as measured so far; None
    while there is nobody to measure it on.
    """

    name: str
    people: int
    fewest: int
    value: float | None
    bound: float
    e_value: float


class MonitoredDay(NamedTuple):
    """One update: its people, the e-value after it, and the row with the most evidence."""

    people: int
    log_e_value: float
    row: str
    digest: str | None = None

    @property
    def e_value(self) -> float:
        """The weighted mean of the e-values of all rows after this day."""
        return _told(self.log_e_value)

    def shown(self) -> dict[str, Any]:
        """Return the update as its table shows it."""
        return {"people": self.people, "e_value": self.e_value, "most_evidence": self.row}


class Monitor(Face):
    """Watches whether a model keeps its bounds; it may be looked at after every day.

    `certify` or a test repeated every day finds an excess sooner or later where there is none.
    Here the chance of an alarm, on whatever day, is at most ``delta`` while all bounds hold,
    however rates move within them. Every bound has an *e-value*, which starts at 1 and is the
    capital of somebody who bets against it (`equipoise.guarantees.e_process`). Their mean, in
    which bounds that the fit came near to weigh more, is ``e_value_``, and the alarm is raised once
    it reaches ``1 / delta``.

    Parameters
    ----------
    model : FairClassifier, ExponentiatedGradient or GridSearch
        Fitted. Its bounds are watched, as they were written, also where the fit did not meet them.
    delta : float, default=0.05
        The chance of a false alarm, over all days together.
    detect : float, optional
        The excess over a bound that should be found soon; others are found too, but later. By
        default the bound itself, at least 0.01 and at most 0.05.

    Attributes
    ----------
    alarm_ : bool
        Whether there has been an alarm; it stays. It says that at some time since the start not
        all bounds were kept, not that they are exceeded today.
    alarm_day_ : int or None
        The day of the alarm, from 1.
    alarm_row : str
        A sentence about the row with most evidence when the alarm was raised; empty before.
    e_value_ : float
        Evidence so far. Below ``1 / delta`` it proves nothing, also not that bounds are kept.
    rows_ : list of MonitoredRow
    history_ : list of MonitoredDay
    needs_labels : bool
        Whether `update` needs ``y``. Demographic parity does not.

    Notes
    -----
    People count one by one and once each, without weights. Those of a day must not be chosen by
    their decisions or labels: labels that are known of accepted people only are another
    population. With ``reference="overall"``, everybody is made of groups in the shares that they
    had in the fit. Groups that the fit did not have are not watched.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise import DemographicParity, FairClassifier, Monitor
    >>> rng = np.random.default_rng(0)
    >>> def people(n, drift):
    ...     A = rng.integers(0, 2, n)
    ...     X = np.column_stack([rng.normal(size=n) + (1 + drift) * A, rng.normal(size=n)])
    ...     return X, A
    >>> X, A = people(5000, drift=0)
    >>> y = (X.sum(axis=1) + rng.normal(size=5000) > 0.5).astype(int)
    >>> rule = DemographicParity(eps=0.1, reference="pairwise")
    >>> model = FairClassifier(LogisticRegression(), rule).fit(X, y, sensitive_features=A)
    >>> monitor = Monitor(model)
    >>> for day in range(20):
    ...     X, A = people(200, drift=0 if day < 10 else 1)
    ...     monitor = monitor.update(X, sensitive_features=A)
    >>> monitor.alarm_day_ > 10
    True
    >>> monitor.alarm_row.partition(";")[0]
    'demographic parity: 0 below 1 by at most 0.1'
    """

    def __init__(self, model: Any, delta: float = 0.05, detect: float | None = None) -> None:
        if not isinstance(model, DecisionsMixin):
            raise TypeError(
                f"model is a {type(model).__name__}; expected a fitted FairClassifier, "
                "ExponentiatedGradient or GridSearch, which keep the rates of their fit. Of a "
                "Frontier, take frontier.at(eps)."
            )
        check_is_fitted(model)
        self.model, self.delta, self.detect = model, read_probability(delta, "delta"), detect
        if detect is not None:
            self.detect = read_probability(detect, "detect")
        certificate = getattr(model, "certificate_", None)  # a grid search has none
        worst = None if certificate is None else certificate.worst_rate
        self._strata = RowStrata.of_fit(
            model.constraint_, model._tally_of_fit(), 0.0 if worst is None else float(worst[1])
        )
        if not self._strata.rows:
            raise ValueError(
                f"there is nothing to watch: no decisions can exceed {model.constraint_!r} with "
                "the groups of the fit, such as one group alone."
            )
        self._process = self._new_process()
        self.history_: Records[MonitoredDay] = Records()
        self.alarm_day_: int | None = None
        self.alarm_row = ""

    def _new_process(self) -> EProcess:
        strata = self._strata
        detect = excess_to_find(strata.c + strata.shift)
        if self.detect is not None:
            detect[:] = self.detect
        rates = np.where(strata.a != 0, strata.rates[strata.strata], 0.5)
        return EProcess(strata.a, strata.c, rates, detect)

    @property
    def needs_labels(self) -> bool:
        """Whether `update` needs ``y``."""
        return self._strata.needs_labels

    @property
    def alarm_(self) -> bool:
        """Whether there has been an alarm."""
        return self.alarm_day_ is not None

    @property
    def e_value_(self) -> float:
        """The weighted mean of the e-values of all rows."""
        return _told(float(self._process.log_value()))

    @property
    def rows_(self) -> Records[MonitoredRow]:
        """Every bound, with the evidence against it."""
        found, process, strata = Records[MonitoredRow](), self._process, self._strata
        for k, log_value in enumerate(process.log_values()):
            used = process.a[k] != 0
            people, value = process.people[k, used], None
            if people.all():
                rates = process.successes[k, used] / people
                value = float(process.a[k, used] @ rates + strata.shift[k])
            name, bound = strata.rows[k].sentence(), float(strata.c[k] + strata.shift[k])
            counts = (int(people.sum()), int(min(people, default=0)))
            found.append(MonitoredRow(name, *counts, value, bound, _told(float(log_value))))
        return found

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any,
        control_features: Any = None,
        decisions: Any = None,
    ) -> Self:
        """Count the people of one day, or of any other batch; return the monitor.

        Parameters
        ----------
        X : table of n rows
        y : array-like of shape (n,), optional
            Labels, where the constraint is about them. People count on the day their label is
            known: pass them then, and not before.
        sensitive_features, control_features
            As in the fit. A day without some group, or with one label, is no error: rows that
            need the others do not move.
        decisions : array-like of shape (n,), optional
            The decisions made, as labels. By default the probabilities of the model's decisions
            are counted, which vary less.
        """
        h = self._decisions(X, decisions)
        cells = self._cells(len(h), y, sensitive_features, control_features)
        digest = batch_digest(X, y, self.model.classes_)
        if digest is not None and digest in {day.digest for day in self.history_}:
            warnings.warn(
                f"these {len(h):,} people were counted before, with the same features and labels; "
                "they count again. If that was not meant, go back to the state saved before.",
                RepeatedBatchWarning,
                stacklevel=2,
            )
        if cells is not None:
            self._warn_of_seen(X, y)
            self._process.update(*self._strata.sums(cells, h))
        self._note(len(h), digest)
        return self

    def _warn_of_seen(self, X: Any, y: Any) -> None:
        """Warn where most people of a day are those of the fit; without labels nobody can tell."""
        overlap = None if y is None else overlap_of(self.model, People(X, y))
        if overlap is not None and not overlap.set_apart and 2 * overlap.low > overlap.people:
            warnings.warn(
                f"of these {overlap.people:,} people, {overlap}. What holds for people learned "
                "from says little about others: watch people who came after the fit.",
                SeenPeopleWarning,
                stacklevel=3,
            )

    def _decisions(self, X: Any, decisions: Any) -> NDArray:
        """Return 0, 1 or the probability of 1 for everybody; of V > 2 decisions, those of each."""
        engine, n = engine_for(X), _num_samples(X)
        if not engine.is_local:
            raise TypeError(
                f"X is a {type(X).__name__}; expected a table in memory or on disk. Days are small "
                "enough for it: pass X.compute()."
            )
        classes = self.model.classes_
        if decisions is None and not n:
            return np.zeros(0)
        if decisions is None:
            pmf = self.model._mixture().predict_proba(self.model._decidable(X))
            return pmf[:, 1] if len(classes) == 2 else pmf
        values = to_array(decisions, "decisions").reshape(-1)
        found = label_numbers(values, n, "decisions", classes)
        return found.astype(float) if len(classes) == 2 else found

    def _cells(self, n: int, y: Any, sensitive: Any, control: Any) -> Cells | None:
        """Return the people as cells; None if there is nobody."""
        if y is None and self.needs_labels:
            raise ValueError(
                f"y is missing: {self.model.constraint_!r} is about labels. Update with people "
                "once their labels are known; demographic parity can do without."
            )
        if not n:
            return None
        label = np.zeros(n, dtype=np.intp)
        if y is not None and self.needs_labels:
            label = label_numbers(read_target(y, n), n, "y", self.model.classes_)
        known = self._strata.cells
        groups = read_like(
            sensitive, known.sensitive, n, "sensitive_features", "group", known.rules
        )
        strata = read_like(control, known.control, n, "control_features", "stratum")
        return Cells.from_columns(label.astype(np.int8), groups, strata, decisions=known.decisions)

    def _note(self, people: int, digest: str | None) -> None:
        """Add a day to the history, and raise the alarm where it is due."""
        log_value = float(self._process.log_value())
        most = self.rows_[int(self._process.log_values().argmax())]
        self.history_.append(MonitoredDay(people, log_value, most.name, digest))
        if not self.alarm_ and log_value >= -np.log(self.delta):
            self.alarm_day_ = len(self.history_)
            value = "not measured" if most.value is None else f"{most.value:.4g}"
            self.alarm_row = f"{most.name}; so far {value} ({most.people:,} people)"

    def __str__(self) -> str:
        people = sum(day.people for day in self.history_)
        days = f"{len(self.history_)} day{'s' * (len(self.history_) != 1)}"
        counted = f"{days}, {people:,} people, e-value {self.e_value_:.3g}"
        if not self.alarm_:
            return (
                f"No alarm: {counted}, and the alarm is at {1 / self.delta:.4g}. That is no proof "
                "that the bounds are kept."
            )
        return (
            f"ALARM on day {self.alarm_day_} ({counted} now): at some time since the start not all "
            "bounds were kept. While they are, the chance of any alarm is at most "
            f"{self.delta:.4g}. Most of the evidence was against {self.alarm_row}."
        )

    def __repr__(self) -> str:
        return f"<Monitor: {'alarm' if self.alarm_ else 'no alarm'}, {len(self.history_)} days>"

    def _columns(self) -> Columns:
        return columns_of(self.rows_)

    def _repr_html_(self) -> str:
        return paragraph(str(self)) + table(self._columns())

    def save(self, path: str | Path) -> None:
        """Write the state to a file, small and without rows; see `load`.

        The state that this one goes on from is replaced. Any other file is left alone, with an
        error.
        """
        process = self._process
        rows = [
            {
                "row": row.sentence(),
                "information": float(process.information[k]),
                "log_capital": process.log_capital[k].tolist() if process.information[k] else None,
                "people": process.people[k].tolist(),
                "successes": process.successes[k].tolist(),
            }
            for k, row in enumerate(self._strata.rows)
        ]
        state = {
            "model": self._model_digest(),
            "delta": self.delta,
            "detect": self.detect,
            "alarm": [self.alarm_day_, self.alarm_row],
            "rows": rows,
            "days": [list(day) for day in self.history_],
        }
        write_state(Path(path), state)

    @classmethod
    def load(cls, path: str | Path, model: Any) -> Self:
        """Return the monitor whose state is in a file, to go on with the same model.

        Raises
        ------
        MonitorStateError
            If the file is damaged, no state, or that of another model.
        """
        state = read_state(Path(path))
        monitor = cls(model, state["delta"], state["detect"])
        names = [row.sentence() for row in monitor._strata.rows]
        if state["model"] != monitor._model_digest() or names != [r["row"] for r in state["rows"]]:
            raise MonitorStateError(
                f"{path} is the state of another model: its bounds were "
                f"{'; '.join(row['row'] for row in state['rows'][:2])}, ... Load it with the model "
                "that it was made with, or start a new monitor."
            )
        process, rows = monitor._process, state["rows"]
        process.information = np.array([row["information"] for row in rows], dtype=float)
        for k, row in enumerate(rows):
            if row["information"]:
                process.log_capital[k] = row["log_capital"]
            process.people[k], process.successes[k] = row["people"], row["successes"]
        monitor.history_ = Records(MonitoredDay(*day) for day in state["days"])
        monitor.alarm_day_, monitor.alarm_row = state["alarm"]
        return monitor

    def _model_digest(self) -> str:
        """Return a hash of all of a model that the e-values depend on, besides its decisions."""
        strata, mixed = self._strata, self.model._mixture()
        texts = [row.sentence() for row in strata.rows]
        texts += [repr(c) for c in self.model.classes_.tolist()]
        numbers = (strata.a, strata.c, strata.rates, np.asarray(mixed.weights))
        texts += [f"{v:.6g}" for array in numbers for v in (array.round(6) + 0.0).ravel()]
        return blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def excess_to_find(bound: Array) -> Array:
    """Return the excess over each bound that is looked for by default.

    >>> excess_to_find(np.array([0.02, 0.001, 0.3, 0.0, -0.2])).tolist()
    [0.02, 0.01, 0.05, 0.05, 0.05]
    """
    return np.where(bound > 0, np.clip(bound, LEAST_DETECT, MOST_DETECT), MOST_DETECT)


def _told(log_value: float) -> float:
    return float(np.exp(min(log_value, _MOST)))
