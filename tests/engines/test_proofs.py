"""A proof needs counts by cell only: on disk and on Dask it is the one of memory."""

import pytest
from clusters import logistic, split, trees

from equipoise import DemographicParity, FairClassifier, Frontier, ParquetRows
from equipoise.estimators.guarantees.proofs import _PROVEN

pd = pytest.importorskip("pandas")

RULE = DemographicParity(0.25, reference="pairwise")


@pytest.fixture(autouse=True)
def no_proofs_before():
    _PROVEN.clear()
    yield
    _PROVEN.clear()


def on_disk(X, folder):
    names = [f"x{j}" for j in range(X.shape[1])]
    folder.mkdir()
    pd.DataFrame(X, columns=names).to_parquet(folder / "rows.parquet")
    return ParquetRows(folder, features=names, batch_size=512)


def proofs_of(learner, fit, apart):
    frontier = Frontier(learner, RULE, bounds=[0.1, 0.25], max_iter=6)
    frontier.fit(*fit[:2], sensitive_features=fit[2])
    proof = frontier.prove(*apart[:2], sensitive_features=apart[2]).proof_
    _PROVEN.clear()
    return proof


@pytest.mark.filterwarnings("ignore")  # equal rows, few rounds
def test_disk_is_memory(people, tmp_path):
    parts = [[a[:2000] for a in people], [a[2000:] for a in people]]
    on_it = [[on_disk(X, tmp_path / f"{k}"), y, A] for k, (X, y, A) in enumerate(parts)]
    memory, disk = (proofs_of(trees(), *each) for each in (parts, on_it))
    assert memory.holds
    assert disk.p_value == pytest.approx(memory.p_value, abs=0.02)
    assert (disk.people, disk.fingerprint) == (memory.people, memory.fingerprint)


@pytest.mark.filterwarnings("ignore")
def test_dask_is_memory(people, client):
    parts = [[a[:2000] for a in people], [a[2000:] for a in people]]
    memory = proofs_of(logistic(), *parts)
    there = proofs_of(logistic(), *(split(*part) for part in parts))
    assert memory.holds
    assert there.p_value == pytest.approx(memory.p_value, abs=1e-3)
    assert (there.people, there.fingerprint) == (memory.people, memory.fingerprint)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("design", ["split", "forward"])
def test_rows_on_disk_are_taken_apart_as_in_memory(people, tmp_path, design):
    X, y, A = people
    proofs = []
    for rows in (X, on_disk(X, tmp_path / "all")):
        model = FairClassifier(trees(), RULE, confidence=0.9, proof=design, max_iter=6)
        proofs.append(model.fit(rows, y, sensitive_features=A).proof_)
        _PROVEN.clear()
    memory, disk = proofs
    assert memory.holds == disk.holds
    assert (disk.people, disk.fingerprint) == (memory.people, memory.fingerprint)
    assert disk.p_value == pytest.approx(memory.p_value, abs=0.02)


@pytest.mark.filterwarnings("ignore")
def test_a_split_on_dask(people, client):
    X, y, A = split(*people)
    model = FairClassifier(logistic(), RULE, confidence=0.9).fit(X, y, sensitive_features=A)
    assert model.proof_.holds
    assert abs(model.proof_.people - 0.7 * len(people[1])) <= X.npartitions
    assert model.people_.rows + model.proof_.people == len(people[1])


def test_no_forward_proof_on_dask(people, client):
    X, y, A = split(*people)
    model = FairClassifier(logistic(), RULE, confidence=0.9, proof="forward")
    with pytest.raises(ValueError, match="Use 'split'"):
        model.fit(X, y, sensitive_features=A)
