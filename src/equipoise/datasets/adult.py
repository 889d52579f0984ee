"""The Adult (census income) data set."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from equipoise.datasets.bunch import Column, DataSet, damaged, read_table

_FILE: Traversable = resources.files("equipoise.datasets") / "data" / "adult.npz"
_N_ROWS, _N_POSITIVE = 48_842, 11_687
_COLUMNS = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex "
    "capital_gain capital_loss hours_per_week native_country income split"
)
_FEATURES = [name for name in _COLUMNS.split() if name not in ("fnlwgt", "income", "split")]


@overload
def load_adult(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Bunch: ...


@overload
def load_adult(*, return_X_y: Literal[True], as_frame: bool = False) -> tuple[Any, Any]: ...


def load_adult(*, return_X_y: bool = False, as_frame: bool = False) -> Bunch | tuple[Any, Any]:
    """Load the Adult (census income) data.

    The task is to predict whether a person's income is above 50,000 dollars a year. The data are
    part of the package: 48,842 people in the United States in 1994, of whom 11,687 (23.93 %) are
    positive: 30.38 % of the men and 10.93 % of the women. Sex and race are among the features, as
    in the experiments of Agarwal et al. (2018).

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch. The sensitive features are not in the pair;
        take them, in the same row order, from ``load_adult().sensitive``.
    as_frame : bool, default=False
        Return pandas objects, with categories as they are, instead of numeric NumPy arrays.

    Returns
    -------
    adult : :class:`sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (48842, 104) or DataFrame of shape (48842, 13)
            The features. In the array, float64 and C-contiguous, a categorical feature is a block
            of 0/1 columns, one for each value; a missing value is a block of zeros. In the data
            frame it is a column of dtype category; a missing value is NaN.
        target : ndarray or Series of shape (48842,)
            1 where income is above 50,000 dollars, else 0.
        sensitive : dict of str arrays or DataFrame
            ``"sex"`` (2 values), ``"race"`` (5 values) and ``"sex_race4"``, sex crossed with White
            or not, the four groups of "adult4" in the paper.
        frame : None or DataFrame of shape (48842, 17)
            With ``as_frame=True`` all columns, also `fnlwgt`, `income`, `split` and `label`.
        feature_names : list of str
            Names of the columns of `data`, such as ``"age"`` and ``"workclass=Private"``.
        target_names : ndarray of shape (2,)
            The income classes, ``"<=50K"`` and ``">50K"``.
        weight : ndarray or Series of shape (48842,)
            The survey weight `fnlwgt`, which is not a feature. Only ratios of it have a meaning.
        split : ndarray or Series of shape (48842,)
            ``"train"`` or ``"test"``: the part of the row in the original publication.
        DESCR : str
            Origin, licence, who is in the data, and the known problems. Worth reading.

    (data, target) : tuple
        If ``return_X_y=True``.

    Raises
    ------
    OSError
        If the data file of the package is missing or damaged.
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    Notes
    -----
    Becker, B. and Kohavi, R. (1996). Adult [Dataset]. UCI Machine Learning Repository, data set 2.
    https://doi.org/10.24432/C5XW20. Licensed under CC BY 4.0. The two files are joined, unknown
    values are missing values, and columns are renamed; ``DESCR`` lists every change.

    The data are a benchmark, not a picture of incomes today: a filtered extract of a 1994 survey,
    with an arbitrary threshold and two values for sex.

    Examples
    --------
    >>> from equipoise.datasets import load_adult
    >>> adult = load_adult()
    >>> adult.data.shape
    (48842, 104)
    >>> for sex in ("Female", "Male"):
    ...     print(sex, f"{adult.target[adult.sensitive['sex'] == sex].mean():.2%}")
    Female 10.93%
    Male 30.38%

    The parts as published:

    >>> train = adult.split == "train"
    >>> adult.data[train].shape, adult.data[~train].shape
    ((32561, 104), (16281, 104))
    """
    table = read_table(_FILE, columns=_COLUMNS.split(), n_rows=_N_ROWS)
    positive = table["income"].to_array() == ">50K"
    if positive.sum() != _N_POSITIVE:
        raise damaged(
            _FILE,
            expected=f"{_N_POSITIVE:,} rows with income >50K",
            found=f"{positive.sum():,}",
        )
    sex, race = table["sex"], table["race"]
    crossed = ["Female, White", "Female, non-White", "Male, White", "Male, non-White"]
    number = 2 * (sex.to_array() == "Male") + (race.to_array() != "White")
    weight = Column(table["fnlwgt"].values.astype(np.float64))
    return DataSet(
        table | {"label": Column(positive)},
        _FEATURES,
        {"sex": sex, "race": race, "sex_race4": Column(number, np.array(crossed))},
        ["<=50K", ">50K"],
        extra={"weight": weight, "split": table["split"]},
    ).bunch("adult", as_frame=as_frame, return_X_y=return_X_y)
