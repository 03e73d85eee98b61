"""The list of scenarios, in the order in which they are played."""
from typing import Callable, NamedTuple

SCENARIOS = []


class Scenario(NamedTuple):
    name: str
    what: str
    play: Callable
    calm: bool  # no faults: it looks at times or kills on its own
    alone: bool  # not for three members: there the answer depends on who is asked
    fresh: bool  # played first, on a store that has seen nothing


def scenario(function=None, *, calm=False, alone=False, fresh=False):
    """Puts a function of a Play on the list. Its name says what it is about."""
    if function is None:
        return lambda inner: scenario(inner, calm=calm, alone=alone, fresh=fresh)
    what = (function.__doc__ or "").strip().split("\n")[0]
    name = function.__name__.removeprefix("play_")
    SCENARIOS.append(Scenario(name, what, function, calm, alone, fresh))
    return function
