"""Model files: one zip archive with a fitted model, and no code and no training rows in it.

The parts of the archive:

- ``manifest.json``: what the model is, in words and numbers to read: format version, versions of
  the libraries, parameters, constraint, certificate, weights, classes, feature names; and the
  sha256 of every other part.
- ``state.json``: the model itself, as far as it consists of this package's own types.
- ``members.skops``: the classifiers of other libraries.
- ``canaries.json``: made-up rows and what the classifiers say of them, compared by `load`.

The hashes find accidents. They are no signature: who can write the file can write its hashes.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.utils.validation import check_is_fitted

from equipoise.estimators.randomized import RandomizedClassifier
from equipoise.estimators.regression.randomized import RandomizedRegressor
from equipoise.exceptions import FewPeopleWarning, ModelFileError, UntrustedTypeError
from equipoise.files import archive, canaries
from equipoise.files import members as member_files
from equipoise.files.evidence import few_in_evidence, without_evidence
from equipoise.files.manifest import date_made, kept_values, summarize, versions
from equipoise.files.state import MODELS, Decoder, Encoder, check_model, is_model

__all__ = ["ModelFileError", "UntrustedTypeError", "load", "read_manifest", "save", "verify"]

#: The class of a model that is expected in a file.
Model = TypeVar("Model")

_STATE, _MEMBERS, _CANARIES = "state.json", "members.skops", "canaries.json"
#: Wrappers whose decisions are not those of the model inside.
_WITH_OWN_CUT = (FixedThresholdClassifier, TunedThresholdClassifierCV, CalibratedClassifierCV)


def save(
    model: Any,
    path: str | Path,
    *,
    overwrite: bool = False,
    metadata: Mapping[str, Any] | None = None,
    evidence: bool = True,
) -> None:
    """Write a fitted model to a file, whole or not at all.

    The file holds the classifiers, their weights, the constraint and the certificate, with sums
    over people, and what the classifiers themselves keep of single people: the manifest says that
    for each type, under "keeps". Functions of your own (an objective, a utility, a callback) are
    code and are left out.

    Certificate and sums are the *evidence*. They count people, also those in groups of few, of
    which a warning tells: whoever gets the file can read their numbers.

    Parameters
    ----------
    model : FairClassifier, ExponentiatedGradient, GridSearch, Frontier, FairRegressor or a mixture
        Fitted; or a scikit-learn Pipeline that ends in one of them. Of a search over such models,
        such as GridSearchCV, the best one is saved, which predicts as the search does.
    path : str or Path
    overwrite : bool, default=False
        Whether a file of this name is replaced.
    metadata : mapping, optional
        Notes of your own to keep in the manifest; anything that JSON can hold.
    evidence : bool, default=True
        Whether the file keeps what counts people: certificate, sums, proof and fingerprint. Without
        it a model decides the same and does nothing else: it cannot be certified, monitored or
        reported on. A frontier needs its evidence; save one of its models, ``frontier.at(eps)``.

    Raises
    ------
    FileExistsError
        If there is such a file and ``overwrite`` is False.
    ModelFileError
        If a part of the model cannot be kept in a file.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.linear_model import LogisticRegression
    >>> import equipoise
    >>> rng = np.random.default_rng(0)
    >>> A = rng.integers(0, 2, 500)
    >>> X = np.column_stack([A + rng.normal(size=500), rng.normal(size=500)])
    >>> y = (X.sum(axis=1) + rng.normal(size=500) > 0.5).astype(int)
    >>> constraint = equipoise.DemographicParity(eps=0.02)
    >>> clf = equipoise.FairClassifier(LogisticRegression(), constraint)
    >>> clf = clf.fit(X, y, sensitive_features=A)
    >>> with TemporaryDirectory() as folder:
    ...     equipoise.save(clf, f"{folder}/fair.equipoise")
    ...     again = equipoise.load(f"{folder}/fair.equipoise")
    >>> bool((again.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    if hasattr(model, "cv_results_") and getattr(model, "refit", False):
        model = model.best_estimator_  # without refit it may be left from an earlier search
    if not is_model(model):
        if isinstance(model, _WITH_OWN_CUT):
            raise TypeError(
                f"got a {type(model).__name__} to save, which cuts the scores of a model anew: "
                "nothing keeps its decisions within the bounds. Save the fair model itself, and "
                "calibrate or tune the learner inside it."
            )
        known = ", ".join(kind.__name__ for kind in MODELS)
        raise TypeError(
            f"got a {type(model).__name__} to save; expected one of {known}, or a Pipeline that "
            "ends in one, or a search over these that was refitted (refit=True). Other "
            "scikit-learn estimators are saved with skops itself."
        )
    if not isinstance(model, (RandomizedClassifier, RandomizedRegressor)):
        check_is_fitted(model)
    if not evidence:
        model = without_evidence(model)
    few = few_in_evidence(model)
    encoder = Encoder()
    parts = {_STATE: _as_json(encoder.encode(model))}
    parts[_MEMBERS], untrusted = member_files.dump(encoder.objects)
    try:
        recorded = canaries.record(model, encoder.objects)
        parts[_CANARIES] = _as_json(Encoder().encode(recorded))
        made_up = f"{recorded['score'].shape[1]} rows"
    except canaries.NoCanariesError as error:
        made_up = f"none: {error}"
    manifest = {
        "date": date_made(),
        "versions": versions(),
        **summarize(model),
        "evidence": evidence,
        "few": few,
        "types_to_trust": untrusted,
        "keeps": kept_values([*encoder.objects, *encoder.plugins]),
        "canaries": made_up,
        "metadata": dict(metadata or {}),
    }
    archive.write(Path(path), manifest, parts, overwrite=overwrite)
    if few:
        warnings.warn(f"{path}: {few}", FewPeopleWarning, stacklevel=2)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@overload
def load(path: str | Path, *, trusted: Iterable[str | type] = ..., max_bytes: int = ...) -> Any: ...


@overload
def load(
    path: str | Path,
    *,
    kind: type[Model],
    trusted: Iterable[str | type] = ...,
    max_bytes: int = ...,
) -> Model: ...


def load(
    path: str | Path,
    *,
    kind: type[Any] | None = None,
    trusted: Iterable[str | type] = (),
    max_bytes: int = archive.MAX_BYTES,
) -> Any:
    """Read a model from a file; nothing of what the file holds is run as code.

    Parameters
    ----------
    path : str or Path
    kind : type, optional
        The class that the model must have, such as `FairClassifier`: another is an error, and type
        checkers know what is returned.
    trusted : iterable of str or type, default=()
        Further types that the file may hold, such as ``"my_package.MyLearner"``. Those of
        equipoise need not be named, nor LightGBM's, XGBoost's and most of scikit-learn's; the
        manifest lists those that must be as ``types_to_trust``. Making an object of a type runs
        that type's own code: name only what you know.
    max_bytes : int, default=2 GiB
        What the file may expand to; one that would expand to more is refused before it does.

    Returns
    -------
    model
        As it was saved: equal predictions, draws included.

    Raises
    ------
    ModelFileError
        If the file is truncated, changed, written by a newer version, too large, or no model file;
        or if the libraries installed here do not let the model answer as it did when it was saved.
    UntrustedTypeError
        If it holds types that are not trusted; it names them.
    TypeError
        If the model is not of the class that ``kind`` names.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from equipoise import RandomizedClassifier, save
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> with TemporaryDirectory() as folder:
    ...     save(RandomizedClassifier([tree], [1.0]), f"{folder}/tree.equipoise")
    ...     load(f"{folder}/tree.equipoise", kind=RandomizedClassifier).predict([[1.0]])
    array([1])
    """
    model, _ = _read(Path(path), trusted, max_bytes)
    if kind is not None and not isinstance(model, kind):
        raise TypeError(
            f"{path} holds a {type(model).__name__}; expected a {kind.__name__}. Pass "
            f"kind={type(model).__name__}, or no kind."
        )
    return model


def verify(path: str | Path, *, trusted: Iterable[str | type] = ()) -> int:
    """Return the number of made-up rows that the model in a file still answers as it did.

    It is 0 where there are none to ask about: the manifest says why, under ``canaries``. Damage,
    and answers that are not those that the file holds, raise the errors of `load`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from equipoise import RandomizedClassifier, save
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> with TemporaryDirectory() as folder:
    ...     save(RandomizedClassifier([tree], [1.0]), f"{folder}/tree.equipoise")
    ...     verify(f"{folder}/tree.equipoise")
    16
    """
    _, compared = _read(Path(path), trusted, archive.MAX_BYTES)
    return compared


def _read(path: Path, trusted: Iterable[str | type], max_bytes: int) -> tuple[Any, int]:
    """Return the model in a file, and the number of canary rows that it was compared on."""
    manifest, parts = archive.read(path, max_bytes)
    if missing := {_STATE, _MEMBERS} - set(parts):
        raise ModelFileError(f"{path} is damaged: {min(missing)} is missing. Save it again.")
    written = manifest["versions"]
    member_files.skops_io()  # that it is missing is not the fault of the file
    with archive.contents_of(path, "its members cannot be read"):
        objects = member_files.load(parts[_MEMBERS], trusted, max_bytes, written)
    by = f"it was written by equipoise {written.get('equipoise')} and"
    with archive.contents_of(path, f"{by} does not make sense to this version"):
        decoder = Decoder(objects)
        model = decoder.decode(archive.parse(parts[_STATE]))
        check_model(model, decoder.made)
        if _CANARIES not in parts:
            return model, 0
        kept = Decoder([]).decode(archive.parse(parts[_CANARIES]))
        return model, canaries.check(model, kept, written)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Return what a model file says about itself, without loading the model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.dummy import DummyClassifier
    >>> from equipoise import RandomizedClassifier, save
    >>> always = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
    >>> with TemporaryDirectory() as folder:
    ...     save(RandomizedClassifier([always], [1.0]), f"{folder}/m", metadata={"owner": "me"})
    ...     manifest = read_manifest(f"{folder}/m")
    >>> manifest["kind"], manifest["weights"], manifest["metadata"]
    ('RandomizedClassifier', [1.0], {'owner': 'me'})
    """
    return archive.read_manifest(Path(path))
