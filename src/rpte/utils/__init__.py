"""Helpers for all packages: files written safely, interrupts, progress, a growable matrix.

Nothing here knows of tables or models; it imports `rpte.errors` alone.
"""
