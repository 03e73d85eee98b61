"""What can go wrong, as one small family of exceptions with the sentences of EDL's core."""

from __future__ import annotations


class Error(Exception):
    """Anything that EDL refuses or cannot do; the message is one sentence with a way out."""


class InvalidError(Error, ValueError):
    """The request makes no sense: fix it."""


class NotFoundError(Error, LookupError):
    """There is no such thing."""


class ConflictError(Error):
    """Somebody else was first: look again."""


class UnavailableError(Error):
    """Not now: try again, perhaps elsewhere."""


class TimeoutError(Error):  # noqa: A001 - it is one, in this family
    """The deadline passed; it may or may not have happened."""


class CorruptError(Error):
    """Stored or received bytes are wrong: do not use them."""


class ExhaustedError(Error):
    """A limit is reached: disk, memory, queue."""


# As edl_code numbers them; 6 is a view that is over, which only the core meets.
BY_CODE: dict[int, type[Error]] = {1: InvalidError, 2: NotFoundError, 3: ConflictError,
                                   4: UnavailableError, 5: TimeoutError, 6: ConflictError,
                                   7: CorruptError, 8: ExhaustedError}
