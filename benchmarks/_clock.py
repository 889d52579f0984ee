"""CPU time inside functions of a library, each without that of others that are watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from inspect import getattr_static
from typing import Any, Self


class Clock:
    """Adds up CPU seconds and calls by the names of parts.

    >>> clock = Clock()
    >>> with clock.watching([("json:dumps", "all"), ("json.encoder:JSONEncoder.encode", "text")]):
    ...     import json
    ...     _ = json.dumps([1])
    >>> clock.calls
    {'text': 1, 'all': 1}
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._inside: list[float] = []

    def timing(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, whose time counts for a part."""

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._inside.append(0.0)
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                taken = time.process_time() - start
                own = taken - self._inside.pop()
                self.seconds[name] = self.seconds.get(name, 0.0) + own
                self.calls[name] = self.calls.get(name, 0) + 1
                if self._inside:
                    self._inside[-1] += taken

        return timed

    @contextmanager
    def watching(self, parts: Sequence[tuple[str, str]]) -> Iterator[Self]:
        """Watch functions, ``module:name`` or ``module:Class.name``, each for a part."""
        with ExitStack() as watched:
            for place, name in parts:
                module, _, path = place.partition(":")
                holder, (*classes, attribute) = import_module(module), path.split(".")
                for each in classes:
                    holder = getattr(holder, each)
                original = getattr_static(holder, attribute)
                kind = type(original) if isinstance(original, (staticmethod, classmethod)) else None
                timed = self.timing(name, original.__func__ if kind else original)
                setattr(holder, attribute, kind(timed) if kind else timed)
                watched.callback(setattr, holder, attribute, original)
            yield self
