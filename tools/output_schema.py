"""Write the JSON Schema of what ``--json`` prints: ``python tools/output_schema.py``.

The types of the report's contents say it; the commands add a few fields.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from equipoise.estimators.guarantees.monitor import MonitorAlarm, MonitoredRow
from equipoise.report.contents import (
    DataContents,
    GroupContents,
    MovedContents,
    PointContents,
    ReportContents,
    SwitchedContents,
)
from equipoise.report.measurement import MeasuredContents, Range

TARGET = Path(__file__).resolve().parents[1] / "docs" / "output.schema.json"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def all_of(kind: Any) -> dict[str, Any]:
    """Return the fields of a dataclass and their types."""
    return {part.name: get_type_hints(kind)[part.name] for part in fields(kind)}


#: Command -> field -> type; all have notes.
COMMANDS: dict[str, dict[str, Any]] = {
    "audit": {
        "page": str | None,
        "rows": int,
        "data": DataContents,
        "left_out": str,
        "decisions": str,
        "groups": list[GroupContents],
        "disparities": dict[str, Range],
        "between": dict[str, str],
        "by_estimate": dict[str, str],
    },
    "frontier": {"file": str, "page": str | None, "fits": int, **all_of(ReportContents)},
    "fit": {
        "file": str | None,
        "constraint": str,
        "data": DataContents,
        "left_out": str,
        "unconstrained": PointContents | None,
        **all_of(PointContents),
    },
    "verify": {"file": str, "rows_compared": int, "written_with": dict[str, str]},
    "at": {"file": str, "constraint": str, "left_out": str, **all_of(PointContents)},
    "predict": {"output": str, "rows": int, "selected": int | dict[str, int]},
    "select": {
        "output": str,
        "rows": int,
        "selected": int,
        "u": float,
        "factor": float,
        "groups": dict[str, Any],
    },
    "certify": {
        "exceeded": bool,
        "exceeded_rows": list[str],
        "compared": bool,
        "verdict": str,
        "constraint": str,
        "level": float,
        "labels": bool,
        "left_out": str,
        "learned_from": dict[str, int | bool] | None,
        "measured": MeasuredContents | None,
        "groups": list[GroupContents],
        "switched": list[SwitchedContents | MovedContents],
        "remarks": list[str],
    },
    "monitor": {
        "alarm": bool,
        "alarms": [get_type_hints(MonitorAlarm)],
        "run_length": int,
        "detect": float | None,
        "period": int,
        "days": int,
        "people": int,
        "rows": [get_type_hints(MonitoredRow)],
    },
    "report": {"page": str, "report": ReportContents},
    "error": {"error": str, "code": int},
    "reproduce": {
        "files": list[str],
        "left_out": Any,
        "rows": int,
        "failed": dict[str, Any],
    },
}


def schema_of(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; those of dataclasses are put into ``known``."""
    if kind is Any:
        return {}
    if isinstance(kind, dict):
        return schema_of_fields(kind, known)
    if isinstance(kind, list):
        return {"type": "array", "items": schema_of(kind[0], known)}
    if isinstance(kind, type) and kind in PLAIN:
        return {"type": PLAIN[kind]}
    if kind is dict:
        return {"type": "object"}
    arguments = get_args(kind)
    if get_origin(kind) in (UnionType, Union):
        return {"anyOf": [schema_of(option, known) for option in arguments]}
    if get_origin(kind) is list or Ellipsis in arguments:
        return {"type": "array", "items": schema_of(arguments[0], known)}
    if get_origin(kind) is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], known)}
    if get_origin(kind) is tuple or hasattr(kind, "_fields"):
        parts = arguments or tuple(get_type_hints(kind).values())
        items = [schema_of(part, known) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": len(parts), "items": False}
    assert is_dataclass(kind), kind
    if kind.__name__ not in known:
        known[kind.__name__] = {}  # it may refer to itself
        found = schema_of_fields(all_of(kind), known)
        known[kind.__name__] = {"description": (kind.__doc__ or "").split("\n")[0], **found}
    return {"$ref": f"#/$defs/{kind.__name__}"}


def schema_of_fields(kinds: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of these fields and no others."""
    return {
        "type": "object",
        "properties": {name: schema_of(kind, known) for name, kind in kinds.items()},
        "required": list(kinds),
        "additionalProperties": False,
    }


def make() -> dict[str, Any]:
    """Return the schema of all commands: that of one is at ``#/$defs/COMMAND``."""
    known: dict[str, Any] = {}
    commands = {
        name: schema_of_fields({**kinds, "notes": list[str]}, known)
        for name, kinds in COMMANDS.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What the commands of equipoise print with --json",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in commands],
        "$defs": {**commands, **known},
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(make(), indent=1) + "\n", encoding="utf-8")
