"""What type checkers make of a program that uses equipoise: they read it, and nobody runs it."""

from typing import assert_type

import numpy as np
from sklearn.linear_model import LogisticRegression

import equipoise
from equipoise import DemographicParity, FairClassifier, Frontier
from equipoise.metrics.intervals import Interval
from equipoise.metrics.measurement import Measured, ViolationReport

X = np.zeros((4, 1))
y = np.array([0, 1, 0, 1])
A = np.array(["F", "F", "M", "M"])

model = FairClassifier(LogisticRegression(), DemographicParity(eps=0.02))
assert_type(model.fit(X, y, sensitive_features=A), FairClassifier)
report = model.report(X, y, sensitive_features=A)
assert_type(report, ViolationReport[Measured])
assert_type(report["test"].excess, Interval)
assert_type(report["test"].excess.low, float)
for entry in report:
    assert_type(entry, Measured)

frontier = Frontier(LogisticRegression(), DemographicParity(), bounds=[0.01, 0.1])
frontier.fit(X, y, sensitive_features=A)
assert_type(frontier.report()["training"], list[Measured])
assert_type(frontier.at(eps=0.05), FairClassifier)

loaded = equipoise.load("model.equipoise", kind=FairClassifier)
assert_type(loaded, FairClassifier)
assert_type(loaded.report(X, y, sensitive_features=A)["test"].met, bool)
names = list(report.to_pandas().columns)
