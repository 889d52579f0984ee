"""OpenML, through scikit-learn: frames that come in many types, and answers that make no sense."""

from __future__ import annotations

import socket

import numpy as np
import pandas as pd
import pytest
from publishers import kept

from equipoise.datasets import load_acs_income, load_credit_default, load_diabetes130
from equipoise.datasets.loaders import SOURCES


def clients(nominal: bool) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.integers(0, 5, 20) for i in range(1, 24)})
    frame["x2"] = np.tile([1, 2], 10)
    frame["y"] = np.arange(20) % 2
    if nominal:
        codes = ["x2", "x3", "x4", "y"]
        return frame.astype(dict.fromkeys(codes, "str")).astype(dict.fromkeys(codes, "category"))
    return frame.astype({"x1": float})


@pytest.mark.parametrize("nominal", [False, True])
def test_credit_default_from_openml(openml, cache, server, nominal):
    frame = clients(nominal)
    openml("credit_default", frame, "y")
    credit = load_credit_default(as_frame=True)
    assert credit.target.tolist() == [0, 1] * 10
    assert credit.sensitive["gender"].tolist() == ["male", "female"] * 10
    assert credit.data["pay_amt6"].tolist() == frame["x23"].tolist()
    assert credit.data["education"].tolist() == frame["x3"].astype(str).tolist()
    assert credit.data["limit_bal"].dtype == np.int64
    assert kept(cache) == ["credit_default.npz"]
    asked = len(server.requests)
    pd.testing.assert_frame_equal(load_credit_default(as_frame=True).frame, credit.frame)
    assert len(server.requests) == asked


def test_credit_default_with_other_columns(openml):
    openml("credit_default", clients(nominal=False).drop(columns="x5"), "y")
    with pytest.raises(OSError, match="expected 24 columns, found 23"):
        load_credit_default()


def test_acs_income_from_openml(openml):
    frame = pd.DataFrame(
        {
            "AGEP": [30.0, 40.0, 50.0],
            "COW": [1.0, 2.0, 1.0],
            "SCHL": [21.0, 16.0, 24.0],
            "MAR": [1.0, 5.0, 1.0],
            "OCCP": [10.0, 3255.0, 9830.0],
            "POBP": [6.0, 303.0, 72.0],
            "RELP": [0.0, 17.0, 1.0],
            "WKHP": [40.0, 20.0, 60.0],
            "SEX": [1.0, 2.0, 2.0],
            "RAC1P": [1.0, 9.0, 6.0],
            "ST": [6.0, 72.0, 36.0],
            "PINCP": [50_000.0, 50_001.0, 90_000.0],
        }
    )
    openml("acs_income_2018", frame, "PINCP")
    acs = load_acs_income(as_frame=True)
    assert acs.target.tolist() == [0, 1, 1]
    assert acs.state.tolist() == ["CA", "PR", "NY"]
    assert acs.sensitive["sex"].tolist() == ["male", "female", "female"]
    assert acs.sensitive["race"].tolist() == ["White", "Two or more", "Asian"]
    assert acs.data["OCCP"].tolist() == ["10", "3255", "9830"]
    assert "PINCP" not in acs.frame
    arrays = load_acs_income(states=["CA", "PR"])
    for name in ("OCCP=management", "OCCP=medicine", "POBP=United States", "POBP=Americas"):
        assert name in arrays.feature_names
    assert arrays.data.shape[0] == 2


def test_diabetes130_from_openml(openml):
    kinds = SOURCES["diabetes130"].kinds
    frame = pd.DataFrame(
        {
            name.replace("_", "-") if name.startswith("gl") else name: (
                [1, 2, 3] if kind == "integer" else pd.Categorical(["No", "Up", "No"])
            )
            for name, kind in kinds.items()
        }
    )
    frame["race"] = pd.Categorical(["Asian", np.nan, "Other"])
    frame["diag_1"] = pd.Categorical(["250.83", "V57", "410"])
    frame["admission_type_id"] = [1, 2, 1]
    frame["readmitted"] = pd.Categorical(["<30", ">30", "NO"])
    frame["max_glu_serum"] = pd.Categorical(["None", ">300", "Norm"])
    openml("diabetes130", frame, "readmitted")
    diabetes = load_diabetes130(as_frame=True)
    assert diabetes.target.tolist() == [1, 0, 0]
    assert diabetes.sensitive["race"].tolist() == ["Asian", "Unknown", "Other"]
    assert diabetes.data["race"].isna().tolist() == [False, True, False]
    assert diabetes.data["max_glu_serum"].tolist() == ["None", ">300", "Norm"]
    assert diabetes.data["admission_type_id"].tolist() == ["1", "2", "1"]
    assert diabetes.patient.tolist() == [1, 2, 3]
    arrays = load_diabetes130()
    assert {"diag_1=circulatory", "diag_1=diabetes", "diag_1=other"} <= set(arrays.feature_names)


@pytest.mark.filterwarnings("ignore:A network error")
@pytest.mark.filterwarnings("ignore:Invalid cache")
@pytest.mark.parametrize(
    ("answers", "changes", "message"),
    [
        ({"/made.arff": 404}, {}, "OpenML's data set 42477: .*Not Found"),
        ({"/data/42477": 412}, {}, "Dataset with data_id 42477 not found"),
        ({"/made.arff": b"@DATA"}, {}, "md5 checksum .* does not match"),
        ({}, {"md5_checksum": "0" * 32}, "md5 checksum"),
        ({"/features/42477": b"not json"}, {}, "OpenML's data set 42477"),
    ],
    ids=["missing", "unknown", "cut off", "checksum", "nonsense"],
)
def test_openml_that_fails(openml, server, cache, answers, changes, message):
    openml("credit_default", clients(nominal=False), "y", **changes)
    server.answers |= answers
    before = socket.getdefaulttimeout()
    with pytest.raises(OSError, match=message) as raised:
        load_credit_default()
    assert "credit_default could not be downloaded from https://www.openml.org/d/42477" in str(
        raised.value
    )
    assert kept(cache) == []
    assert socket.getdefaulttimeout() == before


@pytest.mark.filterwarnings("ignore:A network error")
@pytest.mark.filterwarnings("ignore:Invalid cache")
def test_openml_that_is_silent(openml, server, cache, silence):
    openml("credit_default", clients(nominal=False), "y")
    server.answers["/data/42477"] = silence
    with pytest.raises(OSError, match="timed out"):
        load_credit_default()
    assert kept(cache) == []
