"""Helpers for all packages: files written safely, interrupts, progress, names of array types.

Nothing here knows of tables or models; it imports `rpte.errors` alone.
"""
