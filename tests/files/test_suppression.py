"""Small groups in model files: no number of them, and none that follows from others."""

import json
import warnings
import zipfile
from copy import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from equipoise.metrics.small_groups import small_cells, small_groups
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equipoise
from equipoise import (
    DemographicParity,
    EqualizedOdds,
    FairClassifier,
    Frontier,
    GridSearch,
    Probabilities,
)
from equipoise.cells import Cells
from equipoise.constraints import UtilityParity
from equipoise.estimators import Monitor
from equipoise.exceptions import EquipoiseWarning, ModelFileError, NothingComparedWarning
from equipoise.files import read_manifest
from equipoise.metrics import group_table
from equipoise.metrics.audit import Tally

N = 600


@pytest.fixture(scope="module")
def few():
    """People of whom three are X, all with label 1; weights tell every sum from all others."""
    rng = np.random.default_rng(0)
    A = rng.choice(["F", "M", "D"], N, p=[0.5, 0.4, 0.1])
    A[:3] = "X"
    X = np.column_stack([(A == "M") + rng.normal(size=N), rng.normal(size=N)])
    y = (X.sum(axis=1) + rng.normal(size=N) > 0.5).astype(int)
    y[:3] = 1
    return X, y, A, rng.uniform(0.5, 2, N)


def fitted(kind, few, constraint, **how):
    X, y, A, weight = few
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)  # nobody is X with label 0
        how = {"bounds": [0.05, 0.1]} | how if kind is Frontier else how
        model = kind(LogisticRegression(), constraint, nu=0.01, **how)
        return model.fit(X, y, sensitive_features=A, sample_weight=weight)


def saved(model, folder, **how):
    equipoise.save(model, folder / "m", overwrite=True, **how)
    with zipfile.ZipFile(folder / "m") as archive:
        parts = [json.loads(archive.read(name)) for name in ("state.json", "manifest.json")]
    return parts, equipoise.load(folder / "m")


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for entry in value for number in numbers(entry)]
    return [float(value)] if type(value) in (int, float) else []


def secrets(model, few):
    """Numbers of the three people, from the rows: shares, sizes, rates of every classifier."""
    X, _, A, weight = few
    inside, share = A == "X", weight / weight.sum()
    pool = model.pool_.classifiers if isinstance(model, Frontier) else model.classifier_.members
    decided = np.array([member.predict(X) for member in pool]).astype(float)
    mixed = model.predict_proba(X)[:, 1] if isinstance(model, FairClassifier) else decided[0]
    told = [share[inside].sum(), 1 / share[inside].sum(), np.square(share[inside]).sum()]
    for h in (*decided, mixed):
        rate, overall = np.average(h[inside], weights=weight[inside]), share @ h
        told.append(share[inside] @ h[inside])
        if 0 < rate < 1:  # else the difference is that of a constant classifier
            told += [rate, rate - overall, overall - rate]
    bounds = (0.05, 0.1)  # where a bound binds, the difference is known from it
    return np.array([t for t in told if min(abs(abs(t) - b) for b in (0.0, *bounds)) > 1e-7])


def close_to(found, secret):
    found = np.sort(found)
    at = np.searchsorted(found, secret)
    near = [np.abs(found[np.clip(at + d, 0, len(found) - 1)] - secret) for d in (-1, 0)]
    return np.minimum(*near) <= 1e-9 * np.abs(secret)


@pytest.mark.parametrize("kind", [FairClassifier, Frontier])
@pytest.mark.parametrize("constraint", [DemographicParity(eps=0.05), EqualizedOdds(eps=0.1)])
def test_no_number_of_three_people_is_in_the_file(kind, constraint, few, tmp_path):
    model = fitted(kind, few, constraint)
    secret = secrets(model, few)
    exact, _ = saved(model, tmp_path, suppress_below=0)
    assert close_to(numbers(exact), secret).sum() > 3  # the search finds what is there
    parts, again = saved(model, tmp_path)
    found = numbers(parts)
    assert not close_to(found, secret).any()
    table = again.cells_ if kind is Frontier else again.tallies_["training"].cells
    groups = table.sensitive["group"]
    hidden = np.isin(groups, ["X", "D"])
    assert table.together.tolist() == hidden.tolist()
    assert 3 not in table.count
    assert set(zip(groups[hidden], table.label[hidden], strict=True)) == set(
        product(["X", "D"], [0, 1])  # nor that no X has label 0
    )
    A, y = few[2], few[1]
    for label in (0, 1):
        of_label = hidden & (table.label == label)
        both = np.isin(A, ["X", "D"]) & (y == label)
        assert table.count[of_label].tolist() == [both.sum() / 2] * 2


def moved(table, s, rng):
    """The same sums of X and D by label, in other parts; cells of X with label 0 are added."""
    at = {
        (g, k): i
        for i, (g, k) in enumerate(zip(table.sensitive["group"], table.label, strict=True))
    }
    mass, share, count = table.mass.copy(), s.copy(), table.count.astype(float)
    x, d, part = at["X", 1], at["D", 1], rng.uniform(0.0, 0.2)
    for values in (mass, count):
        values[[x, d]] = values[[x, d]].sum() * np.array([part, 1 - part])
    share[..., [x, d]] = share[..., [x, d]].sum(axis=-1, keepdims=True) * np.array([part, 1 - part])
    return replace(table, mass=mass, count=count), share


def test_the_file_depends_on_the_sums_of_hidden_groups_alone(few, tmp_path):
    model, rng = fitted(FairClassifier, few, DemographicParity(eps=0.05)), np.random.default_rng(1)
    tally = model.tallies_["training"]
    table, s = moved(tally.cells, tally.s, rng)
    assert not np.allclose(s, tally.s)
    other = copy(model)
    other.tallies_ = {"training": Tally(table, s, tally.squares)}
    switched = replace(model.certificate_.switched, cells=table)  # one table serves both
    other.certificate_ = replace(model.certificate_, switched=switched)
    (first, _), _ = saved(model, tmp_path)
    (second, _), _ = saved(other, tmp_path)
    np.testing.assert_allclose(numbers(first), numbers(second), rtol=1e-12)


def test_page_and_file_together_determine_no_small_group():
    rng = np.random.default_rng(2)
    for _ in range(40):
        n = 150
        a, b = rng.integers(0, 3, n), rng.choice(3, n, p=[0.75, 0.2, 0.05])
        y = rng.integers(0, 2, n)
        cells = Cells.from_columns(y, {"a": a, "b": b})
        hidden = small_cells(cells, 10)
        units = sorted(set(zip(a.tolist(), b.tolist(), strict=True)))
        count = np.array([np.sum((a == i) & (b == j)) for i, j in units])
        off = {
            unit
            for unit, hide in zip(
                zip(cells.sensitive["a"], cells.sensitive["b"], strict=True), hidden, strict=True
            )
            if hide
        }
        assert {unit for unit, size in zip(units, count, strict=True) if size < 10} <= off
        known = [[float(u == v) for u in units] for v in units if v not in off]
        known.append([float(u in off) for u in units])
        page = group_table(y, y, sensitive_features={"a": a, "b": b})
        for at in np.flatnonzero(~small_groups(page, 10)):
            feature, group = page.features[at], page.groups[at]
            part = {"": lambda u, g: True, "a": lambda u, g: u[0] == g, "b": lambda u, g: u[1] == g}
            whose = part.get(feature, lambda u, g: u == g)
            known.append([float(whose(u, group)) for u in units])
        _, sizes, basis = np.linalg.svd(np.array(known))
        free = basis[np.sum(sizes > 1e-9) :]
        determined = {u for k, u in enumerate(units) if np.abs(free[:, k]).max(initial=0) < 1e-9}
        assert not determined & {u for u, size in zip(units, count, strict=True) if size < 10}


def test_what_a_loaded_model_still_says_is_true(few, tmp_path):
    X, y, A, weight = few
    model = fitted(FairClassifier, few, EqualizedOdds(eps=0.1))
    _, again = saved(model, tmp_path)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)  # nobody is X with label 0
        before, after = model.report()["training"], again.report()["training"]
    assert after.error.estimate == pytest.approx(before.error.estimate, abs=1e-12)
    exact = dict(before.rows)
    known = {row: i for row, i in after.rows if not np.isnan(i.estimate)}
    assert {row.group for row in known} == {"F", "M"}
    for row, interval in known.items():
        assert interval.estimate == pytest.approx(exact[row].estimate, abs=1e-12)
        assert interval.low == pytest.approx(exact[row].low, abs=0.01)  # other rows beside it
    with pytest.raises(ValueError, match="no evidence to check"):
        again.certificate_.check()
    assert {row.group for row in again.certificate_.rows} == {"F", "M"}
    assert "suppressed  constraints on small groups" in str(again.certificate_)
    assert read_manifest(tmp_path / "m")["suppressed"].startswith("2 groups")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquipoiseWarning)
        test = again.report(X, y, sensitive_features=A, sample_weight=weight)["test"]
    assert test.people == N
    _, third = saved(again, tmp_path)
    assert third.tallies_["training"].cells.count.tolist() == (
        again.tallies_["training"].cells.count.tolist()
    )


def test_everything_is_kept_if_asked_for_or_if_no_group_is_small(few, tmp_path):
    model = fitted(FairClassifier, few, DemographicParity(eps=0.05))
    for how in ({"suppress_below": 0}, {"suppress_below": 3}):
        (_, manifest), again = saved(model, tmp_path, **how)
        assert manifest["suppressed"] == ""
        assert again.certificate_.check() == model.certificate_.check()
        assert again.tallies_["training"].cells.together is None


def test_a_frontier_answers_to_the_bounds_traced(few, tmp_path):
    X, y, A, weight = few
    frontier = fitted(Frontier, few, DemographicParity())
    _, again = saved(frontier, tmp_path)
    assert (again.at(0.1).predict(X) == frontier.at(0.1).predict(X)).all()
    assert again.at(0.1).certificate_.error == frontier.points_[1].error
    with pytest.warns(EquipoiseWarning, match=r"not traced: .* stricter one, 0\.05"):
        assert again.at(0.07).constraint_.eps == 0.05
    with pytest.raises(ValueError, match=r"least bound that was traced 0\.05"):
        again.at(0.01)
    assert again.select(error=1.0).constraint_.eps == 0.05
    with pytest.raises(ValueError, match="errs as little as"):
        again.select(error=0.0)
    data = {"sensitive_features": A, "sample_weight": weight}
    for call in (
        lambda: again.with_constraint(EqualizedOdds()),
        lambda: again.with_objective(None),
        lambda: again.refine(0.07, X, y, **data),
        lambda: again.prove(X, y, **data, eps=0.1),
        lambda: again.at(0.1, deterministic=True, X=X, y=y, **data),
    ):
        with pytest.raises(ValueError, match="does not tell small groups apart"):
            call()
    assert again.recertify(X, y, **data).at(0.07).certificate_.feasible
    assert len(again.evaluate(X, y, **data)) == 3


@pytest.mark.parametrize("way", ["probabilities", "weights of the error only", "utilities"])
def test_people_who_count_in_several_ways(way, few, tmp_path):
    X, y, A, weight = few
    how, data = {}, {"sensitive_features": A, "sample_weight": weight}
    constraint = DemographicParity(eps=0.05)
    if way == "probabilities":
        values = np.array(["D", "F", "M", "X"])
        data["sensitive_features"] = Probabilities((A[:, None] == values) * 1.0, values)
    elif way == "utilities":
        constraint = UtilityParity(eps=0.1)
        data["utilities"] = np.column_stack([np.zeros(N), np.random.default_rng(3).uniform(size=N)])
    else:
        how["constraint_weights"] = False
    model = FairClassifier(LogisticRegression(), constraint, nu=0.01, **how).fit(X, y, **data)
    _, again = saved(model, tmp_path)
    table = again.tallies_["training"].cells
    assert table.together.any()
    assert table.mass.sum() == pytest.approx(1.0)
    assert again.report()["training"].error.estimate == pytest.approx(
        model.report()["training"].error.estimate
    )
    assert {row.group for row in again.certificate_.rows} == {"F", "M"}


def test_pipelines_and_costs_by_group(few, tmp_path):
    X, y, A, _ = few
    costs = equipoise.Costs(false_negative={"F": 1, "M": 1, "D": 1, "X": 3})
    inner = FairClassifier(LogisticRegression(), DemographicParity(eps=0.05), objective=costs)
    model = make_pipeline(StandardScaler(), inner).fit(X, y, fairclassifier__sensitive_features=A)
    _, again = saved(model, tmp_path)
    assert np.isnan(again[-1].report()["training"].error.estimate)  # it tells X from D
    assert model[-1].certificate_.evidence is not None
    assert (again.predict(X) == model.predict(X)).all()


def test_a_list_of_bounds_that_tells_of_labels_is_refused(few, tmp_path):
    model = fitted(FairClassifier, few, EqualizedOdds(eps=[0.1] * 14))
    with pytest.raises(ModelFileError, match="Give these by group or event"):
        equipoise.save(model, tmp_path / "m")
    equipoise.save(model, tmp_path / "m", suppress_below=0)


def test_bounds_on_groups_that_are_not_told_apart_are_not_watched(few, tmp_path):
    model = fitted(FairClassifier, few, DemographicParity(eps=0.05))
    assert {row.name.partition(":")[2].split()[0] for row in Monitor(model).rows_} == set("FMDX")
    _, again = saved(model, tmp_path)
    with pytest.warns(NothingComparedWarning, match="on small groups are not watched"):
        watched = Monitor(again).rows_
    assert {row.name.partition(":")[2].split()[0] for row in watched} == set("FM")


@pytest.mark.parametrize("kind", [FairClassifier, Frontier, GridSearch])
@pytest.mark.filterwarnings("ignore::equipoise.exceptions.InfeasibleWarning")
def test_switched_decisions_of_small_groups_are_not_told(kind, few, tmp_path):
    def switched(model):
        return (model.at(0.05) if kind is Frontier else model).switched()

    model = fitted(kind, few, DemographicParity(eps=0.05))
    (_, manifest), again = saved(model, tmp_path)
    assert manifest["suppressed"]
    told = {(row.group, row.label): row for row in switched(again).rows}
    assert {group for group, _ in told} == {"overall", "F", "M"}
    assert switched(again).total() == pytest.approx(switched(model).total())
    for row in switched(model).rows:
        if row.group in ("overall", "F", "M"):
            assert told[row.group, row.label].gained == pytest.approx(row.gained)


def test_the_manifest_says_that_plugin_classifiers_keep_costs_of_cells(few, tmp_path):
    saved(fitted(FairClassifier, few, DemographicParity(eps=0.05), oracle="plugin"), tmp_path)
    assert "how many people" in read_manifest(tmp_path / "m")["keeps"]["PluginClassifier"]


@pytest.mark.parametrize("kind", [FairClassifier, GridSearch])
def test_decisions_among_three_labels_stay_those_of_each_group(kind, few, tmp_path):
    X, _, A, _ = few
    y = np.digitize(X.sum(axis=1) + np.random.default_rng(1).normal(size=N), [0.0, 1.0])
    how = {"grid_size": 3} if kind is GridSearch else {}
    model = kind(LogisticRegression(), DemographicParity(0.6), **how)
    model.fit(X, y, sensitive_features=A)
    kept = saved(model, tmp_path)[1]._tally_of_fit()
    given = model._tally_of_fit()
    for group in "FM":  # D is merged with the three of X, so as not to give them away
        expected = given.s.reshape(-1, 2)[given.cells.sensitive["group"] == group].sum(axis=0)
        found = kept.s.reshape(-1, 2)[kept.cells.sensitive["group"] == group].sum(axis=0)
        assert found == pytest.approx(expected)
    assert kept.s.reshape(-1, 2).sum(axis=0) == pytest.approx(given.s.reshape(-1, 2).sum(axis=0))
