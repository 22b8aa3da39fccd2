"""Pictures as data: what each one shows, computed once, and two painters that draw it.

A picture is a `Panel` of `marks`: lines, bands, dots, boxes, texts and cells in the units of the
data, with its axes. `effect`, `surface`, `tree`, `case`, `importance` and `frontier` make panels
from a model; `svg` paints them for the report, notebook cards and files, `pyplot` with matplotlib
(the extra ``plot``, imported when it draws). `subject` is the model with the rows that a picture is
of. The report, `plots`, `notebook` and the command line import this folder.
"""
