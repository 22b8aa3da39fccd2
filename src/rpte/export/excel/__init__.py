"""Excel: a workbook of formulas, its sheets, and LibreOffice to recompute it.

`rpte.export.target` finds it; nothing else imports from here.
"""
