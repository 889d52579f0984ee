"""Identity: a digest of what a trained classifier depends on, value by value.

Printed forms do not do: scikit-learn shortens those of long pipelines and NumPy those of large
arrays, and a class may print what it likes. So parameters are walked: an estimator counts by its
type and its parameters, an array by its type, shape and entries, a function by its code. What was
learned from data counts where fits use it: in fitted classifiers and frozen estimators.
"""

from __future__ import annotations

import copyreg
import inspect
import platform
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

#: Libraries on which every answer depends.
_ALWAYS = ("equipoise", "joblib", "numpy", "scipy", "sklearn")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class Identity:
    """A digest of values, and the libraries that they come from.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> shallow, deep = (Identity(DecisionTreeClassifier(max_depth=d)) for d in (2, 9))
    >>> shallow.digest == Identity(DecisionTreeClassifier(max_depth=2)).digest
    True
    >>> shallow.digest == deep.digest
    False
    """

    def __init__(self, *values: Any, fitted: bool = False) -> None:
        self._libraries = set(_ALWAYS)
        self._open: dict[int, int] = {}  # what is being walked, so that cycles end
        self.digest = self._join("values", [self._of(value, fitted) for value in values]).hex()

    def versions(self) -> dict[str, str]:
        """Return the versions of Python and of the libraries that were met."""
        return versions_of(sorted(self._libraries - {"__main__"}))

    def _join(self, kind: str, parts: Iterable[bytes]) -> bytes:
        digest = blake2b(kind.encode(), digest_size=16)
        for part in parts:
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()

    def _of(self, value: Any, fitted: bool) -> bytes:
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            value = value.item()  # 3 is 3, of whichever type
        if type(value) in _PLAIN:
            return self._join(type(value).__name__, [repr(value).encode()])
        if id(value) in self._open:
            return self._join("again", [str(len(self._open) - self._open[id(value)]).encode()])
        self._open[id(value)] = len(self._open)
        try:
            return self._compound(value, fitted)
        finally:
            del self._open[id(value)]

    def _compound(self, value: Any, fitted: bool) -> bytes:
        if isinstance(value, np.ndarray):
            shape = repr((value.dtype.descr, value.shape)).encode()
            if value.dtype.hasobject:
                return self._join("array", [shape, *(self._of(v, fitted) for v in value.ravel())])
            return self._join("array", [shape, np.ascontiguousarray(value).tobytes()])
        if isinstance(value, (list, tuple)):
            return self._join(self._type(value), [self._of(v, fitted) for v in value])
        if isinstance(value, (set, frozenset)):
            return self._join(self._type(value), sorted(self._of(v, fitted) for v in value))
        if isinstance(value, Mapping):
            return self._join(self._type(value), self._pairs(value, fitted))
        if isinstance(value, (type, ModuleType)):
            return self._join("name", [self._named(value)])
        if isinstance(value, (FunctionType, CodeType, MethodType, partial, BuiltinFunctionType)):
            return self._function(value, fitted)
        return self._object(value, fitted)

    def _pairs(self, value: Mapping[Any, Any], fitted: bool) -> list[bytes]:
        pairs = [(self._of(k, fitted), self._of(v, fitted)) for k, v in value.items()]
        return sorted(self._join("pair", pair) for pair in pairs)

    def _object(self, value: Any, fitted: bool) -> bytes:
        """An estimator counts by its parameters; any other object by all that it would pickle."""
        kind = self._type(value)
        if hasattr(value, "get_params") and not isinstance(value, type):
            state = dict(value.get_params(deep=False))
            if fitted or _survives_cloning(value):
                return self._join(kind, [self._of({**state, **vars(value)}, True)])
            state |= {k: repr(v) for k, v in vars(value).items() if k == "_metadata_request"}
            return self._join(kind, [self._of(state, fitted)])
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            made = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise TypeError(
                f"the learner holds a {type(value).__name__}, of which nobody can tell whether it "
                f"is the same in another process ({error}). Leave checkpoint= out."
            ) from error
        if isinstance(made, str):
            return self._join(kind, [made.encode()])
        parts = [part if part is None else list(part) for part in made[3:5]]
        return self._join(kind, [self._of(part, fitted) for part in (*made[:3], *parts)])

    def _function(self, value: Any, fitted: bool) -> bytes:
        if isinstance(value, CodeType):
            constants = [self._of(constant, False) for constant in value.co_consts]
            names = repr((value.co_names, value.co_varnames, value.co_freevars)).encode()
            return self._join("code", [value.co_code, names, *constants])
        if isinstance(value, partial):
            return self._join("partial", [self._of(v, fitted) for v in value.__reduce__()[2][:3]])
        if isinstance(value, MethodType):
            bound = (value.__func__, value.__self__)
            return self._join("method", [self._of(v, fitted) for v in bound])
        if isinstance(value, BuiltinFunctionType) or self._is_versioned(value):
            return self._join("function", [self._named(value)])
        enclosed = inspect.getclosurevars(value).nonlocals
        inside = (value.__code__, value.__defaults__, value.__kwdefaults__, enclosed)
        return self._join("function", [self._named(value), *(self._of(v, False) for v in inside)])

    def _type(self, value: Any) -> str:
        """The name of a type; the code, too, of one that belongs to no library with a version."""
        kind = type(value)
        own = [base for base in kind.__mro__ if not self._is_versioned(base)]
        code = [
            self._of(member, False)
            for base in own
            for _, member in sorted(vars(base).items())
            if isinstance(member, FunctionType)
        ]
        return self._join("type", [self._named(kind), *code]).hex()

    def _is_versioned(self, value: Any) -> bool:
        root = (getattr(value, "__module__", None) or "builtins").partition(".")[0]
        if root == "__main__":
            return False
        return root in sys.stdlib_module_names or hasattr(sys.modules.get(root), "__version__")

    def _named(self, value: Any) -> bytes:
        module = getattr(value, "__module__", None) or "builtins"
        self._libraries.add(module.partition(".")[0])
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        return f"{module}:{name}".encode()


def _survives_cloning(estimator: Any) -> bool:
    """Whether clones keep what was learned, as those of a FrozenEstimator do."""
    own = getattr(type(estimator), "__sklearn_clone__", None)
    return own not in (None, BaseEstimator.__sklearn_clone__)


def versions_of(libraries: Iterable[str]) -> dict[str, str]:
    """Return the version of Python, and of each of these libraries that is installed.

    >>> list(versions_of(["numpy", "no such library"]))
    ['python', 'numpy']
    """
    found = {"python": platform.python_version()}
    for name in libraries:
        number = getattr(sys.modules.get(name), "__version__", None)
        with suppress(PackageNotFoundError):
            found[name] = version(name) if number is None else str(number)
    return found
