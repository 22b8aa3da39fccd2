"""`python -m rpte`, and the command `rpte`: the command line."""

from rpte.utils.interrupts import run


def main() -> None:
    """Run the command line; from its first import on, Ctrl-C ends it with one line."""
    run(_command)


def _command() -> None:
    from rpte.cli import app

    app(prog_name="rpte")


if __name__ == "__main__":
    main()
