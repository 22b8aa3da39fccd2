"""SQL: the query, what dialects differ in, reasons, and databases to run it in.

`rpte.export.target` finds it; nothing else imports from here.
"""
