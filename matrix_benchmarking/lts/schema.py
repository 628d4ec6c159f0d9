"""The JSON Schema (2020-12) of a workload's LTS payloads."""

from __future__ import annotations

from typing import Any

import pydantic
from pydantic_core import PydanticUndefined

from ..models import LTS_SCHEMA_VERSION
from ..workload import Workload
from .payloads import payload_model

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def payload_schema(workload: Workload) -> dict[str, Any]:
    """The schema of one payload, which an array of payloads satisfies too.

    So it validates each element, and the file that ``--output-lts`` writes as a whole.
    """
    model = payload_model(workload)
    schema = _with_object_at_root(model.model_json_schema(by_alias=True, mode="validation"))
    schema.pop("title", None)
    schema["type"] = ["object", "array"]
    return {
        "$schema": DIALECT,
        "$id": f"urn:matbench:lts:{workload.name}:{_schema_version(model)}",
        "title": f"LTS payload of {workload.name}, or an array of such payloads",
        **schema,
        "items": {"$ref": "#", "type": "object"},
    }


def _with_object_at_root(schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* with the model's own fields at its root, also where the model refers to itself."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    definitions = schema["$defs"]
    return {**definitions[reference.rpartition("/")[2]], "$defs": definitions}


def _schema_version(model: type[pydantic.BaseModel]) -> str:
    """The default that the payload model's metadata give, else the engine's."""
    metadata = model.model_fields.get("metadata")
    fields = getattr(metadata.annotation, "model_fields", {}) if metadata else {}
    version = fields["lts_schema_version"].default if "lts_schema_version" in fields else PydanticUndefined
    return LTS_SCHEMA_VERSION if version is PydanticUndefined else str(version)
