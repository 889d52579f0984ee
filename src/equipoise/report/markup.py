"""HTML that cannot be broken by what it shows: text is escaped unless it is marked as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

#: Elements that have no content and no end tag. In SVG all of ours have one.
_VOID = frozenset({"br", "hr", "input", "link", "meta"})


class Html(str):
    """Text that is HTML already, made by `element` or by this package itself."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
Attribute: TypeAlias = "str | int | float | bool | None"


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """Return an element; children and attributes are escaped, unless they are `Html`.

    Parameters
    ----------
    name : str
    *children : str, int, None, or iterables of these
        None is left out.
    **attributes : str, number, bool or None
        ``class_`` is class, other underscores are hyphens. True is an attribute without value;
        False and None are left out.

    Examples
    --------
    >>> element("p", "a < b", element("b", 1), None, class_="x", aria_label='"', hidden=True)
    '<p class="x" aria-label="&quot;" hidden>a &lt; b<b>1</b></p>'
    """
    opening = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{opening}>")
    return Html(f"<{name}{opening}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Return children one after the other, escaped where they are not HTML.

    >>> join("<", [element("br"), None, "&"])
    '&lt;<br>&amp;'
    """
    return Html("".join(_text(child) for child in children))


def named(text: str) -> Html:
    """Return a name that users chose, apart from the text around it.

    Names may be written from right to left, or hold characters that turn what follows around.

    >>> named("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return element("bdi", text)


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, (str, int)):
        return escape(str(child))
    return "".join(_text(each) for each in child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
