"""The summary of a fit: what is known of the data, and what must be given together."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from unkind import BOUNDS

from equipoise import DemographicParity, Frontier, GridSearch, Probabilities
from equipoise.report import report_of


def test_the_data_are_summed_up(made):
    data, train, test = made.contents.data, made.train, made.test
    assert (data.rows, data.train_rows, data.test_rows) == (1000, 600, 400)
    assert data.labels == ("no", "yes")
    assert data.base_rate == np.mean(np.concatenate([train.y, test.y]) == "yes")
    assert (data.sensitive, data.control, data.weight) == (["sex"], [], None)
    assert [(column.name, column.kind) for column in data.columns] == [
        ("column 0", "number"),
        ("column 1", "number"),
    ]
    assert [point.eps for point in made.contents.points] == BOUNDS


def test_weights_count_in_the_share_of_labels(made):
    train = made.train
    weight = np.where(train.y == "yes", 3.0, 1.0)
    model = made.frontier.at(0.05)
    contents = report_of(
        model, train.X, train.y, sensitive_features=train.group, sample_weight=weight, title="One"
    )
    assert contents.data.base_rate == pytest.approx(weight[train.y == "yes"].sum() / weight.sum())
    assert (contents.title, contents.data.weight, contents.kind) == ("One", "given", "model")


def test_people_held_out_in_part_are_refused(made):
    train = made.train
    with pytest.raises(ValueError, match="given in part"):
        report_of(
            made.frontier, train.X, train.y, sensitive_features=train.group, X_test=made.test.X
        )


def test_models_without_a_certificate_are_refused(made):
    people = made.train
    model = GridSearch(LogisticRegression(), DemographicParity(0.2), grid_size=3)
    model.fit(people.X, people.y, sensitive_features=people.group)
    with pytest.raises(TypeError, match="model is a GridSearch; expected a fitted Frontier"):
        report_of(model, people.X, people.y, sensitive_features=people.group)


def test_groups_that_are_probabilities_are_refused(made):
    people = made.train
    known = np.linspace(0.1, 0.9, len(people.y))
    groups = Probabilities(np.column_stack([known, 1 - known]), ["F", "M"], name="sex")
    model = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.1])
    model.fit(people.X, people.y, sensitive_features=groups)
    with pytest.raises(ValueError, match="expected the groups themselves"):
        report_of(model, people.X, people.y, sensitive_features=groups)
