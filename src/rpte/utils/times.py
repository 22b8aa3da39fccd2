"""When something was done, as it stands on the record: UTC, to the second."""

import re
from datetime import UTC, datetime

from rpte.errors import InputError

ISO = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?")


def recorded_time(when: str | None) -> str:
    """Return a time of ISO 8601 as UTC, now if None; refuse anything else.

    A time without a zone is one of UTC.

    Examples
    --------
    >>> recorded_time("2026-01-31T12:00:00Z"), recorded_time("2026-01-31T13:00:00.5+01:00")
    ('2026-01-31T12:00:00Z', '2026-01-31T12:00:00Z')
    """
    return (datetime.now(UTC) if when is None else _parsed(when)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _parsed(when: str) -> datetime:
    try:
        if not ISO.fullmatch(when):
            raise ValueError
        found = datetime.fromisoformat(when)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"when={when!r} is not a time of ISO 8601; give one such as 2026-01-31T12:00:00Z"
        ) from None
