"""Collections that cannot be fitted are refused before any work; partitions are aligned."""

from __future__ import annotations

import numpy as np
import pytest
from clusters import N, logistic, split, trees

from equipoise import (
    DemographicParity,
    FairClassifier,
)
from equipoise.oracles.specs import Plugin, Refit

dask = pytest.importorskip("dask", reason="dask is not installed")
pytest.importorskip("distributed", reason="dask.distributed is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe cannot be imported")
pd = pytest.importorskip("pandas")
xgboost = pytest.importorskip("xgboost")


def test_bad_input_is_refused_with_the_remedy(client, people):
    X, y, A = people
    dX, dy, dA = split(X, y, A)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=3)
    text = frame.assign(e="x")
    unknown = dX[dX[:, 0] > -9]  # sizes are not known any more
    series = pd.Series(A, index=np.arange(N) + 5)
    holes = da.from_array(np.where(np.arange(N) == 2500, np.nan, A), chunks=700)
    fair = FairClassifier(logistic(), DemographicParity(eps=0.02))

    def refuses(message, *, of=ValueError, X=dX, y=dy, A=dA, clf=fair, **more):
        with pytest.raises(of, match=message):
            clf.fit(X, y, sensitive_features=A, **more)

    refuses("y is of type ndarray.*Pass a Dask array", of=TypeError, y=y)
    refuses("inconsistent numbers of samples", A=dA[:-1])
    refuses("has 2 partitions and X has 5.*compute_chunk_sizes", X=unknown, A=dA.rechunk(2000))
    refuses("index from", X=frame, y=frame["a"], A=dd.from_pandas(series, npartitions=3))
    refuses("column 'e' of X is of type", X=text, y=frame["a"], A=frame["b"])
    refuses("partition 3.*NaN", A=holes)
    refuses("sensitive_features is missing", A=None)
    refuses("partition .: utility 'utility' has values from", utilities=100 + dX[:, :2])
    plugin = FairClassifier(logistic(), DemographicParity(), oracle="plugin")
    refuses("the plug-in oracle got utilities", clf=plugin, utilities=abs(dX[:, :2]) % 1)
    refuses(
        "RandomForestClassifier cannot be trained on a Dask collection",
        of=TypeError,
        clf=FairClassifier(_forest(), DemographicParity()),
    )
    refuses(
        "aware=True",
        clf=FairClassifier(logistic(), DemographicParity(), oracle=Plugin(aware=True)),
    )
    refuses(
        "cv is KFold",
        clf=FairClassifier(logistic(), DemographicParity(), oracle=Refit(cv=_kfold())),
    )


def _forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier()


def _kfold():
    from sklearn.model_selection import KFold

    return KFold(3)


def test_partitions_are_aligned_where_that_is_safe(client, people):
    X, y, A = people
    here = FairClassifier(trees(), DemographicParity(eps=0.02)).fit(X, y, sensitive_features=A)
    (dX,), (dy,), (dA,) = split(X, chunks=700), split(y, chunks=999), split(A, chunks=100)
    there = FairClassifier(trees(), DemographicParity(eps=0.02))
    there.fit(da.concatenate([dX[:, :2], dX[:, 2:]], axis=1), dy, sensitive_features=dA)
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-9)
    frame = pd.DataFrame(X, columns=list("abcd"))
    there.fit(
        dd.from_pandas(frame, npartitions=3),
        dd.from_pandas(pd.Series(y), npartitions=5),
        sensitive_features=dd.from_pandas(pd.Series(A, name="group"), npartitions=2),
    )
    assert there.certificate_.error == pytest.approx(here.certificate_.error, abs=1e-9)
