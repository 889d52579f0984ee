"""Classifiers of other libraries in a model file: skops, which rebuilds only types it is told to.

skops writes the state of an object as JSON and arrays, never as code. What it may make of them
when reading is a matter of a list of types; everything else is refused by name.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import IO, Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from equipoise.exceptions import ModelFileError, UntrustedTypeError, needing
from equipoise.files.archive import check_expansion
from equipoise.files.manifest import other_versions, walk

#: Every array of a member is a file of its own: a forest has thousands.
_MOST_MEMBERS = 1_000_000

#: Types that files may hold besides those of scikit-learn, NumPy and SciPy, which skops trusts:
#: trees, boosted trees (LightGBM's and XGBoost's too), and what other classifiers are made of.
TRUSTED = frozenset(
    {
        "collections.OrderedDict",
        "collections.defaultdict",
        "equipoise.oracles.learners.ResampledClassifier",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "lightgbm.sklearn.LGBMRegressor",
        "numpy.dtype",
        "sklearn._loss._loss.CyHalfBinomialLoss",
        "sklearn._loss._loss.CyHalfMultinomialLoss",
        "sklearn._loss._loss.CyHalfSquaredError",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRegressor",
    }
)


def dump(objects: list[Any]) -> tuple[bytes, list[str]]:
    """Return the objects as bytes, and the types that a reader will have to trust explicitly."""
    skops = skops_io()
    try:
        with _without_owners(objects):
            data = skops.dumps(objects)
        needed = set(skops.get_untrusted_types(data=data)) - TRUSTED
    except Exception as error:  # skops raises whatever the state of an object leads to
        kinds = ", ".join(dict.fromkeys(type(value).__name__ for value in objects))
        raise ModelFileError(
            f"one of {kinds} cannot be kept in a model file: {error}. Expected classifiers whose "
            "state is numbers, text, arrays and known types."
        ) from error
    if local := sorted(name for name in needed if "<" in name or name.startswith("__main__.")):
        raise ModelFileError(
            f"the model holds {local[0]}, which only this program knows, so that no other could "
            "load it. Put it into a module of its own and import it from there."
        )
    return data, sorted(needed)


@contextmanager
def _without_owners(objects: list[Any]) -> Iterator[None]:
    """Let metadata requests name the estimator that they belong to: skops ends no cycle."""
    requests = [part for part in walk(objects) if isinstance(part, MetadataRequest)]
    parts = [part for request in requests for part in (request, *vars(request).values())]
    owned = [(part, part.owner) for part in parts if hasattr(part, "owner")]
    try:
        for part, owner in owned:
            part.owner = owner if isinstance(owner, str) else type(owner).__name__
        yield
    finally:
        for part, owner in owned:
            part.owner = owner


def load(
    data: bytes, trusted: Iterable[str | type], max_bytes: int, written: Mapping[str, str]
) -> list[Any]:
    """Return the objects, if all of their types are trusted.

    ``written`` are the versions of the libraries that wrote them.
    """
    skops = skops_io()
    given = [trusted] if isinstance(trusted, str) else trusted
    allowed = {k if isinstance(k, str) else f"{k.__module__}.{k.__qualname__}" for k in given}
    try:
        _check_sizes(data, max_bytes)
        present = set(skops.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(f"the members cannot be read: {error}.") from error
    if strange := sorted(present - TRUSTED - allowed):
        if absent := [name for name in strange if not _is_here(name)]:
            raise ModelFileError(
                f"it holds objects of {absent[0]}, a type that no library installed here has, so "
                f"that trusting it does not help. {other_versions(written)}"
            )
        raise UntrustedTypeError(strange)
    try:
        return list(skops.loads(data, trusted=sorted(present)))
    except Exception as error:
        raise ModelFileError(
            f"its classifiers cannot be made again ({error}). {other_versions(written)}"
        ) from error


def _is_here(name: str) -> bool:
    """Whether the package of a type is installed; nothing is imported.

    >>> _is_here("sklearn.no_such_type"), _is_here("_loss.CyHalfBinomialLoss")
    (True, False)
    """
    package = name.partition(".")[0]
    return package in sys.modules or find_spec(package) is not None


def _check_sizes(data: bytes, max_bytes: int) -> None:
    """Refuse members that would expand to too much, and arrays that claim more than they hold."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_expansion(archive, len(data), max_bytes, _MOST_MEMBERS)
        for entry in archive.infolist():
            if entry.filename.endswith(".npz"):
                _check_sizes(archive.read(entry), max_bytes)
            elif entry.filename.endswith(".npy"):
                with archive.open(entry) as file:
                    _check_array(file, entry.file_size)


def _check_array(file: IO[bytes], size: int) -> None:
    header = np.lib.format
    is_first = header.read_magic(file) == (1, 0)
    read = header.read_array_header_1_0 if is_first else header.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject or dtype.itemsize * math.prod(shape) > size:
        raise ModelFileError(f"an array of {dtype} and shape {shape} is not in {size:,} bytes")


def skops_io() -> Any:
    """Return skops' module; an ImportError says what to install."""
    with needing("model files need", "'equipoise[files]'"):
        import skops.io
    return skops.io
