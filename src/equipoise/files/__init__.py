"""Files: models saved, loaded and exported."""

from equipoise.files.model_file import load, read_manifest, save, verify
from equipoise.files.onnx import export_onnx, to_onnx

__all__ = ["export_onnx", "load", "read_manifest", "save", "to_onnx", "verify"]
