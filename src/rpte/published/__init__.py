"""What only the published configuration needs: items, patterns, pairs, label trees.

Imported by `fit/`, which chooses by the settings; it imports `vocabulary/` and `structure/`.
"""
