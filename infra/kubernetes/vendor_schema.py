"""Cut the schemas that our manifests need out of the package kubernetes-validate: `tests/schemas/kubernetes.json`.

Run by hand when a manifest uses another kind: pip download --no-deps kubernetes-validate, then
python infra/kubernetes/vendor_schema.py kubernetes_validate-*.whl
"""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

VERSION = "v1.34.0"
WANTED = (
    "io.k8s.api.apps.v1.Deployment",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.Namespace",
    "io.k8s.api.core.v1.PersistentVolumeClaim",
    "io.k8s.api.core.v1.PodTemplateSpec",
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.networking.v1.NetworkPolicy",
)
TARGET = Path(__file__).resolve().parents[2] / "tests" / "schemas" / "kubernetes.json"
_REF = "#/$defs/"


def main(wheel: Path) -> None:
    """Write the wanted definitions and all that they refer to, without their prose; unknown fields are faults."""
    with zipfile.ZipFile(wheel) as archive:
        name = f"kubernetes_validate/kubernetes-json-schema/{VERSION}-local-strict/_definitions.json"
        every = json.loads(archive.read(name))["$defs"]
    kept: dict[str, Any] = {}
    todo = list(WANTED)
    while todo:
        name = todo.pop()
        if name not in kept:
            kept[name] = _without_prose(every[name])
            todo += _referred_to(kept[name])
    document = {"from": f"{wheel.name}, {VERSION}", "$defs": dict(sorted(kept.items()))}
    TARGET.write_text(json.dumps(document, indent=None, separators=(",", ":")) + "\n")


def _without_prose(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_prose(value) for value in node]
    if not isinstance(node, dict):
        return node
    found = {key: _without_prose(value) for key, value in node.items() if not _is_prose(key, value)}
    if "$ref" in found:
        found["$ref"] = _REF + found["$ref"].rpartition("/")[2]
    return found


def _is_prose(key: str, value: Any) -> bool:
    return (key == "description" and isinstance(value, str)) or key.startswith("x-kubernetes")


def _referred_to(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"].removeprefix(_REF)] if isinstance(node.get("$ref"), str) else []
        return own + [name for value in node.values() for name in _referred_to(value)]
    return [name for value in node for name in _referred_to(value)] if isinstance(node, list) else []


if __name__ == "__main__":
    main(Path(sys.argv[1]))
