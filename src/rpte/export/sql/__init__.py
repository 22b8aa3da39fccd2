"""SQL: query, dialects, reasons, and databases; only `rpte.export.target` imports it."""
