"""What every room may use: files written safely, interrupts, progress, a growable matrix.

Nothing in here knows of tables or models; it imports `rpte.errors` alone.
"""
