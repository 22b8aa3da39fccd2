"""Programming languages: Python, JavaScript and C, each one file with one function.

`rpte.export.target` finds them; nothing else imports from here.
"""
