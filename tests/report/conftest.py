"""A small frontier, its report and its page."""

from types import SimpleNamespace

import pytest
from sklearn.linear_model import LogisticRegression
from unkind import BOUNDS, make_people

from equipoise import DemographicParity, Frontier
from equipoise.oracles.specs import Refit
from equipoise.report import report_of, write_report


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The frontier, people learned from and held out, the contents, and the page."""
    train, test = make_people(600, 0), make_people(400, 1)
    frontier = Frontier(
        LogisticRegression(), DemographicParity(), bounds=BOUNDS, oracle=Refit(cv=3)
    )
    frontier.fit(train.X, train.y, sensitive_features=train.group)
    contents = report_of(
        frontier,
        train.X,
        train.y,
        sensitive_features=train.group,
        X_test=test.X,
        y_test=test.y,
        sensitive_features_test=test.group,
        source="people</title><img src=x onerror=alert(1)>.csv",
        file="my frontier.equipoise",
    )
    page = tmp_path_factory.mktemp("report") / "page.html"
    write_report(page, contents)
    return SimpleNamespace(frontier=frontier, train=train, test=test, contents=contents, page=page)
