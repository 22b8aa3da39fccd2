"""Relativities: the table of factors of a tariff; only `rpte.export.target` imports it."""
