"""ONNX: the graph, and its runtime; only `rpte.export.target` imports it."""
