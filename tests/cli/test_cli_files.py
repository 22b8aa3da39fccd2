"""No command writes over what it reads; devices, pipes, modes and links at the command line."""

import inspect
import os
import stat
import subprocess
from pathlib import Path
from shutil import copy2, copytree

import pytest
from typer.testing import CliRunner

import rpte
from command_tables import called
from model_files import stored
from rpte.cli import app
from rpte.model.file import from_dict
from rpte.table.files import write_table

runner = CliRunner()
WHO = ["--by", "A. Smith", "--reason", "a test"]
# What each command reads and how it is asked to write: {out} is put in the place of each of these.
COMMANDS = {
    "fit": (["cases.csv"], "fit cases.csv --target outcome --l1 4/n --folds 0 -o {out}"),
    "score": (["model.json", "cases.csv"], "score model.json cases.csv -o {out}"),
    "decide": (
        ["model.json", "cases.csv", "catalogue.toml"],
        "decide model.json cases.csv --catalogue catalogue.toml -o {out}",
    ),
    "decide --replace": (
        ["model.json", "cases.csv", "catalogue.toml"],
        "decide model.json cases.csv --catalogue catalogue.toml --replace -o {out}",
    ),
    "edit": (
        ["model.json", "cases.csv"],
        "edit model.json --drop-term D1 --refit cases.csv --target outcome -o {out}",
    ),
    "edit --table": (
        ["cases.csv"],
        "edit model.json --drop-term D1 --table cases.csv --target outcome -o {out}",
    ),
    "report": (
        ["model.json", "cases.csv", "about.toml", "peers.csv"],
        "report model.json cases.csv --target outcome --about about.toml --peers peers.csv "
        "-o {out}",
    ),
    "report --json": (["model.json"], "report model.json --json -o {out}"),
    "report --template": (["model.json"], "report model.json --template {out}"),
    "export": (
        ["model.json", "cases.csv"],
        "export model.json --to sql --check cases.csv -o {out}",
    ),
    "export --option": (
        ["catalogue.toml"],
        "export model.json --to sql --reasons 2 --option catalogue=catalogue.toml -o {out}",
    ),
    "explain": (
        ["model.json", "cases.csv"],
        "explain model.json cases.csv --row 1 --svg {out}",
    ),
    "frontier": (["chosen.json"], "frontier chosen.json --svg {out}"),
    "show": (["model.json"], "show model.json --svg {out}"),
    "reasons": (["model.json"], "reasons model.json --template -o {out}"),
    "calibrate": (
        ["counts.json", "kept.csv"],
        "calibrate counts.json kept.csv --target claims --exposure years -o {out}",
    ),
    "compile": ([], "compile -o {out}"),
}
# Options that name a file to write; all others that are paths are read.
WRITTEN = {
    "calibrate": {"output"},
    "compile": {"output"},
    "fit": {"output"},
    "score": {"output"},
    "decide": {"output"},
    "edit": {"output"},
    "report": {"output", "template"},
    "export": {"output"},
    "explain": {"svg"},
    "frontier": {"svg"},
    "show": {"svg"},
    "reasons": {"output"},
}
READ = {
    "model", "table", "catalogue", "refit", "about", "peers", "check", "actions", "log", "a", "b",
    "key_file",  # beside what `sign` writes
    "cache_dir",  # a folder in which a new one is made
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with one file of each kind."""
    folder = tmp_path_factory.mktemp("files")
    made, counts = stored("mixed"), stored("counts")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        from_dict(made.copy()).save("model.json")
        from_dict(counts.copy()).save("counts.json")
        from_dict(stored("chosen").copy()).save("chosen.json")
        made.X.assign(outcome=made.y).to_csv("cases.csv", index=False)
        table = counts.X.assign(claims=counts.y, years=counts.exposure)
        table.assign(age=table["age"] + 1).to_csv("kept.csv", index=False)
        run("reasons", "model.json", "--template", "-o", "catalogue.toml")
        run("report", "model.json", "--template", "about.toml")
        Path("peers.csv").write_text("name,miu\nother,12\n")
        run("decide", "model.json", "cases.csv", "-o", "decisions.jsonl")
        run("edit", "model.json", "--drop-term", "D1", "-o", "edited.json", *WHO)
        from_dict(made.copy()).save("signed.json")
        Path("key").write_bytes(b"0123456789abcdef")
        run("sign", "signed.json", "--key-file", "key")
    return folder


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """Return a copy of that folder, in which commands run."""
    copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, code=0):
    outcome = runner.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})
    assert outcome.exit_code == code, outcome.output
    return outcome


def aliases(path):
    """Return other names of a file."""
    soft, hard = path.with_name("soft" + path.suffix), path.with_name("hard" + path.suffix)
    soft.symlink_to(path.name)
    hard.hardlink_to(path)
    (path.parent / "sub").mkdir()
    return [path.name, f"sub/../{path.name}", str(path), soft.name, hard.name]


@pytest.mark.parametrize(
    ("command", "read"), [(c, read) for c, (reads, _) in COMMANDS.items() for read in reads]
)
def test_no_command_writes_over_what_it_reads(folder, command, read):
    before = Path(read).read_bytes()
    for name in aliases(folder / read):
        outcome = run(*asked(command, name), code=1)
        assert outcome.output.startswith("error: "), outcome.output
        assert "another name" in outcome.output
        assert Path(read).read_bytes() == before
    assert not list(folder.glob("*.part"))


def test_every_path_of_every_command_is_known_here():
    """A new command, or a new option that names a file, has to be told apart above."""
    for command in app.registered_commands:
        parameters = inspect.signature(command.callback, eval_str=True).parameters
        for name, parameter in parameters.items():
            if "Path" not in str(parameter.annotation):
                continue
            written = WRITTEN.get(command.callback.__name__, set())
            assert name in written or name in READ, (command.callback.__name__, name)
    commands = {line.split()[0] for _, line in COMMANDS.values()}
    assert commands == set(WRITTEN)


def asked(command, out):
    """Return the words of a command that writes to a file."""
    line = COMMANDS[command][1]
    return line.format(out=out).split() + (WHO if line.startswith("edit") else [])


# Which commands may replace evidence: those that write a file of the same kind.
EVIDENCE = {
    "decisions.jsonl": {"decide", "decide --replace"},
    "edited.json": {"edit", "edit --table"},
    "signed.json": {"fit", "edit", "edit --table", "calibrate"},
    "signed.json.sig": set(),
}


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("command", COMMANDS)
def test_evidence_is_not_replaced_by_another_kind_of_file(folder, command, name):
    """Nor under another name, nor by force; what is refused is refused before any work."""
    if command in EVIDENCE[name]:
        return
    before = Path(name).read_bytes()
    link = Path(f"link{Path(name).suffix}")
    link.symlink_to(name)
    for out in (name, link):
        force = ["--force"] if command.startswith("edit") else []
        outcome = run(*asked(command, out), *force, code=1)
        assert outcome.output.startswith(f"error: {out} ")
        assert "give another name" in outcome.output
        assert Path(name).read_bytes() == before
    assert link.is_symlink()


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_is_replaced_by_its_own_kind(files, folder, name):
    before = Path(name).read_bytes()
    for command in sorted(EVIDENCE[name]):
        run(*asked(command, name))
        assert Path(name).read_bytes() != before, command
        copy2(files / name, name)


def test_what_is_written_beside_replaces_no_evidence(folder):
    """Parity records, signatures, the checker, and scores of the checker."""
    from rpte.check import rpte_check

    log = Path("decisions.jsonl").read_bytes()
    beside = {
        "x.sql.parity.json": ["export", "model.json", "--to", "sql", "-o", "x.sql"],
        "model.json.sig": ["sign", "model.json", "--key-file", "key"],
        "rpte_check.py": [*asked("fit", "other.json"), "--with-checker"],
    }
    for name, given in beside.items():
        Path(name).write_bytes(log)
        assert f"error: {name} is a log of decisions" in run(*given, code=1).output
        assert Path(name).read_bytes() == log
    for name in EVIDENCE:
        before = Path(name).read_bytes()
        with pytest.raises(SystemExit):
            rpte_check.main(["model.json", "cases.csv", "--scores", name])
        assert Path(name).read_bytes() == before


def test_python_replaces_no_evidence(folder):
    made, model = stored("mixed"), rpte.load("model.json")
    calls = {
        "save": model.save,
        "export": lambda path: model.export("sql", path),
        "report": lambda path: model.report(made.X, made.y).save(path),
        "table": lambda path: write_table(made.X, path),
    }
    before = Path("decisions.jsonl").read_bytes()
    Path("decisions.csv").write_bytes(before)
    for name, call in calls.items():
        path = Path("decisions.csv" if name == "table" else "decisions.jsonl")
        with pytest.raises(rpte.InputError, match="is a log of decisions"):
            call(path)
        assert path.read_bytes() == before
    with pytest.raises(rpte.InputError, match="is a model with a ledger of edits"):
        rpte.append_decisions("edited.json", model, made.X, replace=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_no_file(folder, command):
    Path("sub").mkdir()
    outcome = run(*asked(command, "sub"), code=1)
    assert "error: sub is a folder" in outcome.output
    assert "error: the folder no does not exist" in run(*asked(command, "no/x"), code=1).output


def test_files_that_are_written_beside_are_kept_apart_too(folder):
    Path("x.sql.parity.json").write_bytes(Path("model.json").read_bytes())
    outcome = run("export", "x.sql.parity.json", "--to", "sql", "-o", "x.sql", code=1)
    assert "which this command reads" in outcome.output
    given = ["fit", "cases.csv", "--target", "outcome", "--with-checker", "-o", "rpte_check.py"]
    assert "are one file; give two names" in run(*given, code=1).output
    assert "nothing can stand beside" in run(*given[:-1], "/dev/null", code=1).output
    assert "is a folder" in run(*given[:-1], ".", code=1).output
    assert "is a folder" in run("export", "model.json", "-o", ".", code=1).output


def test_the_checker_keeps_what_it_reads(folder):
    from rpte.check import rpte_check

    before = Path("model.json").read_bytes()
    for read in ("model.json", "cases.csv"):
        with pytest.raises(SystemExit):
            rpte_check.main(["model.json", "cases.csv", "--scores", read])
    assert Path("model.json").read_bytes() == before
    assert rpte_check.main(["model.json", "cases.csv", "--scores", "/dev/null"]) == 0


def test_other_outputs_are_replaced_with_their_mode(folder):
    Path("scores.csv").write_text("old")
    Path("scores.csv").chmod(0o600)
    Path("link.csv").symlink_to("scores.csv")
    run("score", "model.json", "cases.csv", "-o", "link.csv")
    assert Path("scores.csv").read_text().startswith("row,score,")
    assert stat.S_IMODE(Path("scores.csv").stat().st_mode) == 0o600
    assert Path("link.csv").is_symlink()


@pytest.mark.slow(reason="starts a process of its own")
def test_devices_and_pipes_are_written(folder):
    done = called("score", "model.json", "cases.csv", "-o", "/dev/stdout")
    assert done.stdout.startswith("row,score,")
    os.mkfifo("pipe.csv")
    with subprocess.Popen(["cat", "pipe.csv"], stdout=subprocess.PIPE) as reader:
        run("score", "model.json", "cases.csv", "-o", "pipe.csv")
        assert reader.stdout.read().decode() == done.stdout
    assert stat.S_ISFIFO(Path("pipe.csv").stat().st_mode)
    with Path("log.jsonl").open("wb") as file:
        done = run("decide", "model.json", "cases.csv", "-o", f"/dev/fd/{file.fileno()}")
    run("replay", "log.jsonl", "--model", "model.json", "--head", done.stdout.split()[1])
    run("score", "model.json", "cases.csv", "-o", "/dev/null")
    run("show", "model.json", "--svg", "/dev/null")
    run("export", "model.json", "--to", "sql", "-o", "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert not Path("/dev/null.parity.json").exists()
    run("decide", "model.json", "cases.csv", "-o", "/dev/null")


# `compile` reads again what it has written, so it refuses devices.
STREAMED = [name for name in COMMANDS if name != "compile"]


@pytest.mark.slow(reason="runs every command that writes")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("name", STREAMED)
def test_a_full_disk_is_one_line(folder, name):
    outcome = run(*asked(name, "/dev/full"), code=1)
    assert "error: /dev/full: No space left on device" in outcome.output


@pytest.mark.slow(reason="runs every command that writes")
@pytest.mark.parametrize("name", STREAMED)
def test_every_command_writes_to_standard_output(folder, name, capfd):
    before = set(folder.iterdir())
    run(*asked(name, "/dev/stdout"))
    assert capfd.readouterr().out.strip()
    assert set(folder.iterdir()) == before


def test_kernels_are_not_compiled_to_a_device(folder):
    assert "is a device or a pipe" in run(*asked("compile", "/dev/full"), code=1).output


def test_a_log_through_a_pipe_replays(folder):
    os.mkfifo("pipe.jsonl")
    with Path("log.jsonl").open("wb") as file, subprocess.Popen(["cat", "pipe.jsonl"], stdout=file):
        head = run("decide", "model.json", "cases.csv", "-o", "pipe.jsonl").stdout.split()[1]
    run("replay", "log.jsonl", "--model", "model.json", "--head", head)
