"""`python -m rpte`: the command line."""

from rpte.cli import app

if __name__ == "__main__":
    app(prog_name="rpte")
