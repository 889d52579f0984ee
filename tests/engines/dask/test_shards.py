"""Hashes on workers: the fingerprint is that of the same rows in memory."""

import numpy as np
from clusters import logistic, split

from equipoise import DemographicParity, FairClassifier
from equipoise.engines import engine_for
from equipoise.rows.fingerprint import Fingerprint, Overlap
from equipoise.rows.people import People


def test_a_fit_on_workers_knows_its_people_in_memory(client, people):
    X, y, A = people
    model = FairClassifier(logistic(), DemographicParity(eps=0.05))
    model.fit(*split(X[:2000], y[:2000]), sensitive_features=split(A[:2000])[0])
    known, some = model.people_, People(X[:2000], y[:2000])
    in_memory = Fingerprint.of(engine_for(X).hashed(some, np.array([0, 1])))
    assert (known.rows, known.digest, known.salt) == (2000, in_memory.digest, in_memory.salt)
    assert known.sketch.tolist() == in_memory.sketch.tolist()
    raw = {(*row, label) for row, label in zip(X[:2000].tolist(), y[:2000].tolist(), strict=True)}
    rest = list(zip(X[1500:].tolist(), y[1500:].tolist(), strict=True))
    expected = sum((*row, label) in raw for row, label in rest)
    others = sum((*row, 1 - label) in raw for row, label in rest)
    for arrays in ((X[1500:], y[1500:], A[1500:]), split(X[1500:], y[1500:], A[1500:])):
        report = model.report(*arrays[:2], sensitive_features=arrays[2])
        assert report.overlap == Overlap(1500, expected, expected, expected, relabelled=others)
