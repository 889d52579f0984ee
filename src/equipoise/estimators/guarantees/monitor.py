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
from equipoise.guarantees.detector import Detector
from equipoise.guarantees.people_needed import read_probability
from equipoise.rows.people import People
from equipoise.rows.validation import read_integer, read_target, to_array

#: The excess that is looked for by default: the bound itself, but within these limits.
SMALLEST_DETECT, LARGEST_DETECT = 0.01, 0.05


class MonitoredRow(NamedTuple):
    """One bound, its present value, and the evidence against it.

    ``people`` are those counted, ``fewest`` those of its rarest rate, ``waiting`` and ``dropped``
    those who wait, or waited in vain, for the other groups of the bound. ``present`` is the value
    in the present period, between ``low`` and ``high`` with a confidence of 95 % for all looks of
    the period together; None while nobody was counted in it. An alarm is raised where ``evidence``
    reaches the monitor's ``run_length``.
    """

    name: str
    people: int
    fewest: int
    waiting: int
    dropped: int
    present: float | None
    low: float | None
    high: float | None
    bound: float
    evidence: float


class MonitorAlarm(NamedTuple):
    """An alarm: the day, from 1; the people up to then; the bound, and its present value."""

    day: int
    people: int
    row: str
    present: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"on day {self.day}: {self.row}; present value {self.present:.4g} "
            f"[{self.low:.4g}, {self.high:.4g}]"
        )


class MonitoredDay(NamedTuple):
    """One update: its people, the largest evidence after it, and the bound that it is against.

    ``present`` has the present value of each bound, with its limits.
    """

    people: int
    evidence: float
    row: str
    digest: str | None
    present: list[list[float | None]]

    def shown(self) -> dict[str, Any]:
        """Return the update as its table shows it."""
        return {"people": self.people, "evidence": self.evidence, "most_evidence": self.row}


class Monitor(Face):
    """Watches whether a model keeps its bounds; it may be looked at after every day.

    `certify` or a test repeated every day finds an excess sooner or later where there is none.
    Here, while all bounds hold, there is at most one alarm in ``run_length`` people on average,
    and the chance of an alarm within T people is at most T / ``run_length``, however rates move
    within the bounds (`equipoise.guarantees.detector`). People may come in days of any size or one
    by one: they wait until there is somebody of each group that a bound compares.

    Parameters
    ----------
    model : FairClassifier, ExponentiatedGradient or GridSearch
        Fitted. Its bounds are watched, as they were written, also where the fit did not meet them.
    run_length : int, default=150_000
        The number of people to whom there is at most one false alarm on average.
    detect : float, optional
        The excess over a bound that should be found soon; others are found too, but later. By
        default the bound itself, at least 0.01 and at most 0.05.
    period : int, default=10_000
        The number of people whom the present value of a bound is about; it starts again after each
        period. Nobody waits for other groups beyond the end of a period.

    Attributes
    ----------
    alarm_ : bool
        Whether there has been an alarm; it stays.
    alarms_ : list of MonitorAlarm
        An alarm says that the bound was exceeded at some time since the start or its last alarm,
        not that it is exceeded today. The evidence against it then starts again from nothing.
    rows_ : list of MonitoredRow
    history_ : list of MonitoredDay
    needs_labels : bool
        Whether `update` needs ``y``. Demographic parity does not.

    Notes
    -----
    People count one by one and once each, without weights. Those of a day must not be chosen by
    their decisions or labels: labels that are known of accepted people only are another
    population. People who wait are compared with those who come later, so a bound must hold for
    the mean rates of both. With ``reference="overall"``, everybody is made of groups in the shares
    that they had in the fit. Groups that the fit did not have are not watched.

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
    >>> monitor.alarms_[0].day > 10
    True
    >>> monitor.alarms_[0].row
    'demographic parity: 0 below 1 by at most 0.1'
    """

    def __init__(
        self,
        model: Any,
        run_length: int = 150_000,
        detect: float | None = None,
        period: int = 10_000,
    ) -> None:
        if not isinstance(model, DecisionsMixin):
            raise TypeError(
                f"model is a {type(model).__name__}; expected a fitted FairClassifier, "
                "ExponentiatedGradient or GridSearch, which keep the rates of their fit. Of a "
                "Frontier, take frontier.at(eps)."
            )
        check_is_fitted(model)
        self.model = model
        self.run_length = read_integer(run_length, "run_length", 1)
        self.detect = None if detect is None else read_probability(detect, "detect")
        self.period = read_integer(period, "period", 1)
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
        self._detector = self._new_detector()
        self.history_: Records[MonitoredDay] = Records()
        self.alarms_: Records[MonitorAlarm] = Records()
        self._digests: set[str] = set()

    def _new_detector(self) -> Detector:
        strata = self._strata
        detect = excess_to_find(strata.c + strata.shift)
        if self.detect is not None:
            detect[:] = self.detect
        rates = np.where(strata.a != 0, strata.rates[strata.strata], 0.5)
        return Detector(strata.a, strata.c, rates, detect, self.run_length, self.period)

    @property
    def needs_labels(self) -> bool:
        """Whether `update` needs ``y``."""
        return self._strata.needs_labels

    @property
    def alarm_(self) -> bool:
        """Whether there has been an alarm."""
        return bool(self.alarms_)

    @property
    def rows_(self) -> Records[MonitoredRow]:
        """Every bound, with its present value and the evidence against it."""
        state = self._detector.state
        evidence = self._detector.evidence()
        bounds = self._strata.c + self._strata.shift
        rows = Records[MonitoredRow]()
        for k, (present, low, high) in enumerate(_numbers(self._present())):
            people = state["people"][k, self._detector.a[k] != 0]
            row = MonitoredRow(
                self._strata.rows[k].sentence(),
                int(people.sum()),
                int(people.min()),
                int(state["waiting"][k].sum()),
                int(state["dropped"][k]),
                present,
                low,
                high,
                float(bounds[k]),
                float(evidence[k]),
            )
            rows.append(row)
        return rows

    def _present(self) -> Array:
        """Return each row's present value and its limits, (K, 3); NaN where there are none."""
        a = self._detector.a
        value, radius = self._detector.present()
        low = np.maximum(value - radius, np.minimum(a, 0).sum(axis=1))
        high = np.minimum(value + radius, np.maximum(a, 0).sum(axis=1))
        return np.column_stack([value, low, high]) + self._strata.shift[:, None]

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
            As in the fit. A day without some group, or with one label, is no error: people wait
            for those whom a bound compares them with.
        decisions : array-like of shape (n,), optional
            The decisions made, as labels. By default the probabilities of the model's decisions
            are counted, which vary less.
        """
        h = self._decisions(X, decisions)
        cells = self._cells(len(h), y, sensitive_features, control_features)
        digest = batch_digest(X, y, self.model.classes_)
        if digest in self._digests:
            warnings.warn(
                f"these {len(h):,} people were counted before, with the same features and labels; "
                "they count again. If that was not meant, go back to the state saved before.",
                RepeatedBatchWarning,
                stacklevel=2,
            )
        if cells is not None:
            self._warn_of_seen(X, y)
            self._detector.update(*self._strata.sums(cells, h), len(h))
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
        numbers = label_numbers(values, n, "decisions", classes)
        return numbers.astype(float) if len(classes) == 2 else numbers

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
        fit = self._strata.cells
        groups = read_like(sensitive, fit.sensitive, n, "sensitive_features", "group", fit.rules)
        strata = read_like(control, fit.control, n, "control_features", "stratum")
        return Cells.from_columns(label.astype(np.int8), groups, strata, decisions=fit.decisions)

    def _note(self, people: int, digest: str | None) -> None:
        """Add a day to the history, and the alarms that it raised."""
        evidence = self._detector.evidence()
        names = [row.sentence() for row in self._strata.rows]
        largest = int(evidence.argmax())
        present = self._present()
        rates = _numbers(present.round(6))
        day = MonitoredDay(people, float(evidence[largest]), names[largest], digest, rates)
        self.history_.append(day)
        if digest is not None:
            self._digests.add(digest)
        if not people:
            return
        for k in np.flatnonzero(self._detector.alarms()):
            numbers = present[k].round(6).tolist()
            self.alarms_.append(MonitorAlarm(len(self.history_), self._people, names[k], *numbers))

    @property
    def _people(self) -> int:
        return sum(day.people for day in self.history_)

    def __str__(self) -> str:
        days = f"{len(self.history_)} day{'s' * (len(self.history_) != 1)}"
        counted = f"{days}, {self._people:,} people"
        if not self.alarm_:
            evidence = float(self._detector.evidence().max())
            verdict = (
                f"No alarm: {counted}. The largest evidence is {evidence:,.0f}, and the alarm is "
                f"at {self.run_length:,}. That is no proof that the bounds are kept."
            )
            return verdict + self._untested()
        alarms = "ALARM" if len(self.alarms_) == 1 else f"{len(self.alarms_)} ALARMS, the last"
        return (
            f"{alarms} {self.alarms_[-1]}. At some time before, this bound was not kept. While "
            f"bounds are kept, there is at most one alarm in {self.run_length:,} people on "
            f"average. So far {counted}.{self._untested()}"
        )

    def _untested(self) -> str:
        """Return sentences about people who are in no comparison, or nothing."""
        rows = self.rows_
        untested = sum(row.people == 0 for row in rows) if self._people else 0
        dropped = max(row.dropped for row in rows)
        sentences = ""
        if untested:
            sentences += (
                f" {untested} of {len(rows)} bounds are not tested yet: people of all groups that "
                "they compare have not come within one period."
            )
        if dropped:
            sentences += (
                f" Up to {dropped:,} people of a bound were dropped: within a period of "
                f"{self.period:,} people, nobody came whom it compares them with."
            )
        return sentences

    def __repr__(self) -> str:
        return f"<Monitor: {'alarm' if self.alarm_ else 'no alarm'}, {len(self.history_)} days>"

    def _columns(self) -> Columns:
        return columns_of(self.rows_)

    def _repr_html_(self) -> str:
        return paragraph(str(self)) + table(self._columns())

    def save(self, path: str | Path) -> None:
        """Write the state to a file, without rows; see `load`. It has a line for each update.

        The state that this one goes on from is replaced. Any other file is left alone, with an
        error.
        """
        state = {
            "model": self._model_digest(),
            "run_length": self.run_length,
            "detect": self.detect,
            "period": self.period,
            "rows": [row.sentence() for row in self._strata.rows],
            "detector": {name: array.tolist() for name, array in self._detector.state.items()},
            "alarms": [list(alarm) for alarm in self.alarms_],
            "days": [list(day) for day in self.history_],
        }
        write_state(Path(path), state)

    @classmethod
    def load(cls, path: str | Path, model: Any) -> Self:
        """Return the monitor whose state is in a file, to go on with the same model.

        Raises
        ------
        MonitorStateError
            If the file is damaged, no state, or that of another model or version.
        """
        state = read_state(Path(path))
        monitor = cls(model, state["run_length"], state["detect"], state["period"])
        if state["model"] != monitor._model_digest():
            raise MonitorStateError(
                f"{path} is the state of another model: its bounds were "
                f"{'; '.join(state['rows'][:2])}, ... Load it with the model that it was made "
                "with, or start a new monitor."
            )
        arrays = state["detector"].items()
        monitor._detector.state = {name: np.array(values) for name, values in arrays}
        monitor.alarms_ = Records(MonitorAlarm(*alarm) for alarm in state["alarms"])
        monitor.history_ = Records(MonitoredDay(*day) for day in state["days"])
        monitor._digests = {day.digest for day in monitor.history_ if day.digest is not None}
        return monitor

    def _model_digest(self) -> str:
        """Return a hash of all of a model that the evidence depends on, besides its decisions."""
        strata = self._strata
        numbers = (strata.a, strata.c, strata.rates, np.asarray(self.model._mixture().weights))
        texts = [row.sentence() for row in strata.rows]
        texts += [repr(label) for label in self.model.classes_.tolist()]
        texts += [f"{v:.6g}" for array in numbers for v in (array.round(6) + 0.0).ravel()]
        return blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def excess_to_find(bound: Array) -> Array:
    """Return the excess over each bound that is looked for by default.

    >>> excess_to_find(np.array([0.02, 0.001, 0.3, 0.0, -0.2])).tolist()
    [0.02, 0.01, 0.05, 0.05, 0.05]
    """
    clipped = np.clip(bound, SMALLEST_DETECT, LARGEST_DETECT)
    return np.where(bound > 0, clipped, LARGEST_DETECT)


def _numbers(table: Array) -> list[list[float | None]]:
    """Return the rows of a table as lists; None instead of NaN."""
    return [[None if np.isnan(v) else v for v in row] for row in table.tolist()]
