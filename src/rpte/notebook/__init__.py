"""What a notebook shows where a cell ends in one of our objects: cards of plain HTML.

Every public result has a `_repr_html_` that builds a `Card` here and renders it: tables, notes and
folded parts, with inline styles and no script, so that it looks the same in a trusted notebook and
in one that is not. Text has the colour of the notebook around it, so light and dark themes are both
fine. Rooms below may import this one inside `_repr_html_` alone.
"""
