"""Plain data: groups in order, and from what JSON makes of a dataclass back to the dataclass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar, get_args, get_type_hints


class _OfGroup(Protocol):
    @property
    def feature(self) -> str: ...
    @property
    def group(self) -> str: ...


AnyGroup = TypeVar("AnyGroup", bound=_OfGroup)


def made(kind: Any, value: Any) -> Any:
    """Return a value of a type from what JSON makes of it."""
    if value is None:
        return None
    options = [option for option in get_args(kind) if option is not type(None)]
    if type(None) in get_args(kind):  # X | None
        return made(options[0], value)
    origin = getattr(kind, "__origin__", kind)
    if origin is list:
        return [made(options[0], entry) for entry in value]
    if origin is tuple:
        options = [options[0]] * len(value) if Ellipsis in options else options
        return tuple(made(option, entry) for option, entry in zip(options, value, strict=True))
    if origin is dict and len(options) == 2:
        return {key: made(options[1], entry) for key, entry in value.items()}
    if hasattr(kind, "_fields"):  # a NamedTuple
        return kind(*value)
    several = [option for option in options if hasattr(option, "__dataclass_fields__")]
    kind = next((one for one in several if value.keys() <= one.__dataclass_fields__.keys()), kind)
    if hasattr(kind, "__dataclass_fields__"):
        hints = get_type_hints(kind)
        return kind(**{name: made(hints[name], entry) for name, entry in value.items()})
    return value


def in_order(groups: Sequence[AnyGroup], order: Mapping[str, Sequence[str]]) -> list[AnyGroup]:
    """Return the groups, those of features whose values have an order in that order.

    >>> ages = ["25 to 40", "over 40", "under 25"]
    >>> from equipoise.report.contents import GroupContents
    >>> groups = [GroupContents("age", age, 9, {}) for age in ages]
    >>> [group.group for group in in_order(groups, {"age": ["under 25", "25 to 40", "over 40"]})]
    ['under 25', '25 to 40', 'over 40']
    """
    blocks = list(dict.fromkeys(group.feature for group in groups))

    def key(group: AnyGroup) -> tuple[Any, ...]:
        names, values = group.feature.split(" x "), group.group.split(" & ")
        values = values if len(values) == len(names) else [group.group]
        ranks = [
            order[name].index(value) if value in order.get(name, ()) else len(order.get(name, ()))
            for name, value in zip(names, values, strict=False)
        ]
        return blocks.index(group.feature), ranks

    return sorted(groups, key=key)  # stable: the others stay as they are
