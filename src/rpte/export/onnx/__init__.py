"""ONNX: the graph, and which texts it takes for a level.

`rpte.export.target` finds it; nothing else imports from here.
"""
