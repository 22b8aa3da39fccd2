"""Excel: the workbook, and LibreOffice to compute it; only `rpte.export.target` imports it."""
