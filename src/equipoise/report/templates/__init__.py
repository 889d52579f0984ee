"""The templates of the page and of the model card, and the two environments that fill them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from inspect import getmembers, isfunction
from typing import TYPE_CHECKING, Any

from equipoise.exceptions import needing
from equipoise.game.switches import number
from equipoise.metrics.headline import COMPARED, RULE
from equipoise.report import chart, rate_names, text
from equipoise.report.contents import PREDICTIVE_RATES

if TYPE_CHECKING:
    from jinja2 import Environment, Template

#: A member may describe itself at length.
_MOST_LETTERS = 300
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def asset(name: str) -> str:
    """Return the text of a file that lies beside the templates."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def policy() -> str:
    """Return a policy under which only the page's style and script run, and nothing is loaded."""
    style, script = (
        b64encode(sha256(asset(name).encode("utf-8")).digest()).decode("ascii")
        for name in ("page.css", "page.js")
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def in_script(value: Any) -> str:
    """Return a value as JSON; nothing in it looks like the end of a script, or like a comment."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shown_first(first: Sequence[int] | None, rows: Sequence[Any]) -> Sequence[int]:
    """Return the places of the rows that a table shows at once: all of them, or the first."""
    return range(len(rows)) if first is None else first


def rate_at(rates: Mapping[str, Sequence[Any]], rate: str, at: int) -> Any:
    """Return a rate of the group at a place; empty where it is not known."""
    return rates[rate][at] if rate in rates else []


@cache
def page_template(name: str = "page.html.j2") -> Template:
    """Return the template of a page; whatever it shows is escaped."""
    environment = _environment(autoescape=True)
    environment.globals |= {"asset": asset, "shown_first": shown_first, "rate_at": rate_at}
    environment.globals["policy"] = policy
    environment.globals |= {"PREDICTIVE_RATES": PREDICTIVE_RATES, "NOT_PROMISED": text.NOT_PROMISED}
    environment.globals |= {"headline_rule": RULE, "COMPARED": COMPARED}
    environment.filters |= {  # every function that these modules define
        name: function
        for module in (text, chart, rate_names)
        for name, function in getmembers(module, isfunction)
        if function.__module__ == module.__name__
    }
    environment.filters |= {
        "sentence": lambda text: text[:1].upper() + text[1:],
        "shortened": _shortened,
        "thousands": lambda count: f"{count:,}",
        "people": number,
        "whole": lambda people: f"{people:,.0f}",
        "in_script": in_script,
    }
    return environment.get_template(name)


@cache
def markdown_template(name: str) -> Template:
    """Return a template of Markdown; whatever it shows is shown as it is."""
    return _environment(finalize=_plain).get_template(name)


def _environment(**options: Any) -> Environment:
    with needing("the report page and the model card need", "'equipoise[report]'"):
        import jinja2
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,
    )


def _plain(value: Any) -> str:
    """Return text that Markdown shows as it is: names of groups are whatever a file holds."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(value).split()))


def _shortened(value: str) -> str:
    value = " ".join(value.split())
    return value if len(value) <= _MOST_LETTERS else value[: _MOST_LETTERS - 1] + "…"
