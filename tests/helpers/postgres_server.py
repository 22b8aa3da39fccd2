"""A private PostgreSQL server for tests: in a temporary folder, on a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager


def why_not():
    """Return why no server can be started here, empty if one can."""
    if not all(shutil.which(name) for name in ("initdb", "postgres")):
        return "no PostgreSQL server: initdb and postgres are not on the PATH"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if hasattr(os, "geteuid") and os.geteuid() == 0 and _account() is None:
        return "PostgreSQL refuses to run as root, and there is no other account"
    return ""


def _account():
    """Return an account that is not root, for tests that run as root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


@contextmanager
def server():
    """Yield the folder of the socket of a running server, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="rpte_pg_") as folder:
        as_whom = {}
        if os.geteuid() == 0:
            account = _account()
            os.chown(folder, account.pw_uid, account.pw_gid)
            as_whom = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data = f"{folder}/data"
        setup = ["initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C", "-U", "tester"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        subprocess.run([*setup, "--no-sync"], check=True, **quiet, **as_whom)
        command = ["postgres", "-D", data, "-k", folder, "-h", "", "-F"]
        process = subprocess.Popen(command, **quiet, **as_whom)
        try:
            _wait(folder)
            yield folder
        finally:
            process.send_signal(2)  # fast shutdown: open connections do not hold it up
            process.wait(30)


def _wait(folder):
    import psycopg

    for _ in range(200):
        try:
            connect(folder).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("PostgreSQL did not start within 10 seconds")


def connect(folder):
    import psycopg

    where = {"host": folder, "user": "tester", "dbname": "postgres"}
    # Nothing is prepared: the tests make tables of other types under the same name.
    return psycopg.connect(**where, autocommit=True, prepare_threshold=None)
