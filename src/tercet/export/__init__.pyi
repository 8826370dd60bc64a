from tercet.export.document import export_json, model_document
from tercet.export.onnx_model import export_onnx, onnx_attributes
from tercet.export.python_module import export_python

__all__ = ["export_json", "export_onnx", "export_python", "model_document", "onnx_attributes"]
