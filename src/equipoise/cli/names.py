"""Names on the command line: learners, constraints, and ``module:object`` for one's own."""

from __future__ import annotations

import os
import re
import sys
from ast import literal_eval
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from equipoise.exceptions import needing

if TYPE_CHECKING:
    import numpy as np

    from equipoise.constraints import Constraint
    from equipoise.oracles.specs import OracleSpec

#: Short name -> module, class and parameters; a seed goes with all but the first.
LEARNERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "logistic": ("sklearn.linear_model", "LogisticRegression", {"max_iter": 1000}),
    "lightgbm": ("lightgbm", "LGBMClassifier", {"verbose": -1}),
    "xgboost": ("xgboost", "XGBClassifier", {}),
    "histogram": ("sklearn.ensemble", "HistGradientBoostingClassifier", {}),
    "forest": ("sklearn.ensemble", "RandomForestClassifier", {"min_samples_leaf": 5}),
    "tree": ("sklearn.tree", "DecisionTreeClassifier", {"min_samples_leaf": 20}),
}
#: The same for numbers.
REGRESSORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "linear": ("sklearn.linear_model", "LinearRegression", {}),
    "lightgbm": ("lightgbm", "LGBMRegressor", {"verbose": -1}),
    "xgboost": ("xgboost", "XGBRegressor", {}),
    "histogram": ("sklearn.ensemble", "HistGradientBoostingRegressor", {}),
    "forest": ("sklearn.ensemble", "RandomForestRegressor", {"min_samples_leaf": 5}),
    "tree": ("sklearn.tree", "DecisionTreeRegressor", {"min_samples_leaf": 20}),
}
#: Short name -> constraint; the help lists them before the library is imported.
CONSTRAINTS = {
    "dp": "DemographicParity",
    "eo": "EqualizedOdds",
    "tpr": "EqualOpportunity",
    "fpr": "FalsePositiveRateParity",
    "fnr": "FalseNegativeRateParity",
    "balance": "ErrorRateBalance",
    "accuracy": "AccuracyEquality",
    "four-fifths": "FourFifthsRule",
    "treatment": "TreatmentEquality",
    "group-error": "BoundedGroupError",
    "minimax": "MinimaxGroupError",
    "distribution": "DistributionParity",
}


def find_learner(text: str, seed: int) -> Any:
    """Return the learner of this name, with parameters if there are any.

    >>> find_learner("tree", seed=3)
    DecisionTreeClassifier(min_samples_leaf=20, random_state=3)
    >>> find_learner("logistic:C=0.5,solver=newton-cg", seed=3)
    LogisticRegression(C=0.5, max_iter=1000, solver='newton-cg')
    """
    return _learner(text, seed, LEARNERS)


def find_regressor(text: str, seed: int) -> Any:
    """Return the regressor of this name; ``logistic``, the default of labels, is ``linear``.

    >>> find_regressor("logistic", seed=3), find_regressor("tree:max_depth=2", seed=3)
    (LinearRegression(), DecisionTreeRegressor(max_depth=2, min_samples_leaf=20, random_state=3))
    """
    return _learner("linear" if text == "logistic" else text, seed, REGRESSORS)


def _learner(text: str, seed: int, known: dict[str, tuple[str, str, dict[str, Any]]]) -> Any:
    name, _, rest = text.partition(":")
    if name in known:
        module, kind, parameters = known[name]
        seeded = {} if name in ("logistic", "linear") else {"random_state": seed}
        learner, given = _from(module, kind)(**parameters, **seeded), rest
    elif rest:
        attribute, _, given = rest.partition(":")
        found = _user_object(f"{name}:{attribute}")
        learner = found() if isinstance(found, type) or not hasattr(found, "fit") else found
    else:
        raise ValueError(_unknown("learner", name, list(known)))
    return learner.set_params(**_parameters(text, given, learner)) if given else learner


def _parameters(text: str, given: str, learner: Any) -> dict[str, Any]:
    """Return parameters of a learner from ``name=value,name=value``."""
    known = list(learner.get_params())
    found: dict[str, Any] = {}
    for part in re.split(r",(?=\s*\w+=)", given):
        name, _, value = part.strip().partition("=")
        if name not in known or not value:
            raise ValueError(
                f"--learner is {text!r}: {part!r} is no parameter of {type(learner).__name__} with "
                f"a value.{near(name, known)} Expected NAME:parameter=value,parameter=value."
            )
        found[name] = value
        with suppress(ValueError, SyntaxError):
            found[name] = literal_eval(value)
    return found


def find_objective(name: str, false_positive: float | None, false_negative: float | None) -> Any:
    """Return the objective of a name; None is the error rate.

    >>> find_objective("error", None, 5.0), find_objective("balanced", None, None)
    (Costs(false_positive=1.0, false_negative=5.0), BalancedError(over='label', on=None))
    """
    from equipoise.game import BalancedError, Costs

    costs = {"false_positive": false_positive, "false_negative": false_negative}
    given: dict[str, Any] = {which: cost for which, cost in costs.items() if cost is not None}
    if given and name != "error":
        raise ValueError(f"--objective is {name!r}, which has no costs of its own; leave them out.")
    if ":" in name:
        found = _user_object(name)
        return found() if isinstance(found, type) else found
    if name not in ("error", "balanced"):
        raise ValueError(_unknown("objective", name, ["error", "balanced"]))
    if name == "balanced":
        return BalancedError()
    return Costs(**given) if given else None


def find_constraint(
    name: str,
    *,
    eps: float | None = None,
    reference: str | None = None,
    min_size: int = 1,
    groups: str = "intersections",
    decisions: list[str] | None = None,
) -> Constraint:
    """Return the constraint of this name.

    >>> find_constraint("dp", eps=0.02, reference="pairwise")
    DemographicParity(eps=0.02, reference='pairwise')
    >>> find_constraint("group-error", eps=0.2)
    BoundedGroupError()
    """
    if ":" in name:
        return _user_constraint(name, eps)
    if name not in CONSTRAINTS:
        here = next((short for short, kind in CONSTRAINTS.items() if kind == name), None)
        hint = "" if here is None else f" Here it is called {here!r}."
        raise ValueError(_unknown("constraint", name, list(CONSTRAINTS)) + hint)
    kind = getattr(import_module("equipoise.constraints"), CONSTRAINTS[name])
    takes = set(kind().get_params())
    given: dict[str, Any] = {"min_size": min_size, "groups": groups}
    for option, default in {"min_size": 1, "groups": "intersections"}.items():
        if option not in takes and given.pop(option) != default:
            flag = option.replace("_", "-")
            raise ValueError(f"constraint {name!r} has no groups; leave --{flag} out.")
    if eps is not None:
        if not takes & {"eps", "bound"}:
            raise ValueError(f"constraint {name!r} has no bound; leave --eps out.")
        given["eps" if "eps" in takes else "bound"] = eps
    if reference is not None:
        if "reference" not in takes:
            raise ValueError(f"constraint {name!r} compares with nothing; leave --reference out.")
        given["reference"] = reference
    if decisions:
        if "decisions" not in takes:
            raise ValueError(f"constraint {name!r} is not about decisions; leave --decisions out.")
        given["decisions"] = list(decisions)
    return kind(**given)


def with_decisions(constraint: Constraint, y: Any) -> Constraint:
    """Return a constraint whose decisions, texts of the command line, are the labels they name.

    >>> import numpy as np
    >>> with_decisions(find_constraint("dp", decisions=["2"]), np.array([1, 2, 3])).decisions
    [2]
    """
    asked = getattr(constraint, "decisions", None)
    if not asked or not hasattr(y, "tolist"):
        return constraint
    known = {str(label): label for label in dict.fromkeys(y.tolist())}
    if strange := [text for text in asked if text not in known]:
        raise ValueError(
            f"--decisions is {strange[0]!r}, which is no label; there are "
            f"{', '.join(map(repr, known))}.{near(str(strange[0]), list(known))}"
        )
    given = {**constraint.get_params(deep=False), "decisions": [known[text] for text in asked]}
    return type(constraint)(**given)


def find_oracle(name: str, cv: int | None = None) -> OracleSpec:
    """Return the oracle of this name, with so many folds.

    >>> find_oracle("refit"), find_oracle("plugin", cv=3)
    (Refit(), Plugin(cv=3))
    """
    from equipoise.oracles.specs import BestOf, Plugin, Refit

    folds = 5 if cv is None else cv
    known: dict[str, OracleSpec] = {
        "refit": Refit(cv=cv),
        "plugin": Plugin(cv=folds),
        "best_of": BestOf(Plugin(cv=folds), Refit(cv=folds)),
    }
    if name not in known:
        raise ValueError(
            f"there is no oracle {name!r}.{near(name, list(known))} Known are {', '.join(known)}."
        )
    return known[name]


def read_bounds(text: str | None) -> np.ndarray | None:
    """Return bounds: ``0.01,0.02``, or ``0.001:0.1:20``, twenty evenly spaced in ratio.

    >>> read_bounds("0.01:0.1:3").round(3).tolist(), read_bounds("0.1, 0.02").tolist()
    ([0.01, 0.032, 0.1], [0.1, 0.02])
    """
    import numpy as np

    from equipoise.estimators.frontier_point import MOST_BOUNDS

    if text is None:
        return None
    try:
        if ":" in text:
            low, high, number = text.split(":")
            count = int(number)
            bounds = np.geomspace(float(low), float(high), min(count, MOST_BOUNDS))
        else:
            bounds = np.array([float(part) for part in text.split(",")])
            count = len(bounds)
    except ValueError:
        raise ValueError(
            f"--bounds is {text!r}; expected numbers such as 0.01,0.02,0.05, or a range such as "
            "0.001:0.1:20 (from, to, how many)."
        ) from None
    if count > MOST_BOUNDS:
        raise ValueError(
            f"--bounds asks for {count:,} bounds; expected at most {MOST_BOUNDS:,}. 20 or so draw "
            "the whole trade-off, and equipoise at takes any bound between them."
        )
    return bounds


def near(name: str, known: list[str]) -> str:
    """Return a hint at the name that may have been meant.

    >>> near("Incme", ["age", "income"])
    " Did you mean 'income'?"
    """
    lower = {entry.lower(): entry for entry in known}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


def _unknown(what: str, name: str, known: list[str]) -> str:
    return (
        f"there is no {what} {name!r}.{near(name, known)} Known are {', '.join(known)}, and "
        "module:object for one of your own."
    )


def _user_constraint(name: str, eps: float | None) -> Constraint:
    from equipoise.constraints import Constraint

    found = _user_object(name)
    constraint = found() if isinstance(found, type) else found
    if not isinstance(constraint, Constraint):
        raise TypeError(
            f"{name} is a {type(constraint).__name__}; expected a constraint, such as "
            "DemographicParity(eps=0.02)."
        )
    return constraint if eps is None else constraint.set_params(eps=eps)


def _user_object(name: str) -> Any:
    """Import ``module:object``; modules in the current folder are found too."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{name!r}: module {module!r} cannot be imported ({error}). Expected module:object, "
            "with a module in the current folder or on PYTHONPATH."
        ) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{name!r}: {module} has no {part!r}.{near(part, dir(found))}")
        found = getattr(found, part)
    return found


def _from(library: str, name: str) -> Any:
    with needing("this learner needs", "'equipoise[boosting]'"):
        return getattr(import_module(library), name)
