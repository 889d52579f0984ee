"""Lost workers, hangs, and giving up."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from clusters import BOUNDS, N, client_of, logistic, split, trees, two_workers

from equipoise import EqualizedOdds, Frontier
from equipoise.engines.dask import retry
from equipoise.engines.dask.shards import Shards
from equipoise.exceptions import EngineError
from equipoise.rows.people import People

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask.distributed is not installed")


@pytest.fixture
def own_client():
    """A cluster of one's own, to be broken."""
    # Dask may stumble over workers that were killed, at the end.
    with suppress(Exception), two_workers() as cluster, client_of(cluster) as client:
        yield client


def pids(client):
    return list(client.run(os.getpid).values())


@pytest.mark.parametrize("learner", [logistic, trees])
def test_a_killed_worker_changes_nothing(own_client, people, learner):
    X, y, A = people
    expected = Frontier(learner(), EqualizedOdds(), bounds=BOUNDS).fit(X, y, sensitive_features=A)
    killed = []

    def kill(found):
        if len(killed) < 1:
            killed.append(pids(own_client)[0])
            os.kill(killed[0], signal.SIGKILL)

    dX, dy, dA = split(X, y, A)
    frontier = Frontier(learner(), EqualizedOdds(), bounds=BOUNDS, callback=kill)
    frontier.fit(dX, dy, sensitive_features=dA)
    assert killed
    assert [p.error for p in frontier.points_] == pytest.approx(
        [p.error for p in expected.points_], abs=1e-12
    )
    assert frontier.n_calls_ == expected.n_calls_


def test_a_result_that_died_with_its_worker_is_not_waited_for(own_client):
    address, pid = next(iter(own_client.run(os.getpid).items()))
    task = own_client.submit(_sum, 1000, workers=[address], allow_other_workers=False)
    retry.gather(own_client, [task], 600.0, pinned=[address])
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(retry.WorkerLost, match=address):
        retry.gather(own_client, [task], 600.0, pinned=[address])


def _sum(n):
    return sum(range(n))


def test_a_hang_is_abandoned_and_tried_again(own_client, people, tmp_path, monkeypatch):
    shards, flag = Shards(People(*split(*people))), tmp_path / "hung"
    # Ten minutes are over as soon as the task hangs, and not before, however slow the machine is.
    monkeypatch.setattr(retry, "monotonic", lambda: time.monotonic() + 1e6 * flag.exists())
    found = shards.map(_hang_once, str(tmp_path))
    assert sum(found) == N
    assert flag.exists()


def _hang_once(shard, folder):
    flag = Path(folder) / "hung"
    if shard.start == 0 and not flag.exists():
        flag.touch()
        time.sleep(1000)
    return len(shard)


def test_giving_up_keeps_what_was_found(own_client, people, tmp_path):
    X, y, A = split(*people)
    rounds = []

    def fail(found):
        rounds.append(found[0].n_calls)
        if len(rounds) == 2:
            own_client.cluster.close()
            # From here on nothing can succeed, however long it is waited for.
            impatient.enter_context(
                dask.config.set({"equipoise.tries": 1, "equipoise.time-limit": "5 s"})
            )

    frontier = Frontier(
        trees(), EqualizedOdds(), bounds=BOUNDS, checkpoint=tmp_path / "kept", callback=fail
    )
    with (
        ExitStack() as impatient,
        pytest.raises(EngineError, match=r"given up.*classifiers found until then are kept"),
    ):
        frontier.fit(X, y, sensitive_features=A)
    kept = len(list((tmp_path / "kept").glob("answer-*.joblib")))
    assert kept >= rounds[-1] >= 1
    with two_workers() as cluster, client_of(cluster):
        again = Frontier(trees(), EqualizedOdds(), bounds=BOUNDS, checkpoint=tmp_path / "kept")
        again.fit(X, y, sensitive_features=A)
    expected = Frontier(trees(), EqualizedOdds(), bounds=BOUNDS)
    raw_X, raw_y, raw_A = people
    expected.fit(raw_X, raw_y, sensitive_features=raw_A)
    assert [p.error for p in again.points_] == pytest.approx(
        [p.error for p in expected.points_], abs=1e-12
    )
