"""Times on the record: ISO 8601, told as UTC."""

import re

import pytest

from rpte.errors import InputError
from rpte.utils.times import recorded_time


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00.75Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00+05:30", "2026-01-31T06:30:00Z"),
        ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"),
    ],
)
def test_times_are_kept_as_utc(given, kept):
    assert recorded_time(given) == kept


def test_now_is_the_default():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", recorded_time(None))


@pytest.mark.parametrize(
    "given",
    ["yesterday", "", "2026-01-31", "31.01.2026 12:00", "2026-02-30T12:00:00Z", "12:00",
     "2026-01-31T25:00:00Z", "2026-01-31T12:00:00Zulu", "9999-12-31T23:59:59-01:00", 5],
)  # fmt: skip
def test_anything_else_is_refused(given):
    with pytest.raises(InputError, match="is not a time of ISO 8601; give one such as 2026-"):
        recorded_time(given)
