"""ONNX: the graph, which `rpte.export.target` finds; nothing else imports from here."""
