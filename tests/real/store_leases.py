"""Rule h of store_history.py: how long leases live. Times are the machine's monotonic clock, which
clients and server share."""
import math
from dataclasses import dataclass, field

from store_model import GrantAnswer, KeepAlive, KeepAliveAnswer, Put, Revoke, Txn, TxnAnswer

NO_LEASE = "requested lease not found"


@dataclass(eq=False)
class Lease:
    """renewed: (sent, TTL of the answer) of the grant and of each acknowledged keep-alive.
    used: sending times of all that shows it alive. missed: (answer time, operation) of all that
    shows it dead. revokes: the clients' revocations, whatever came of them."""
    lease: int
    ttl: int
    renewed: list = field(default_factory=list)
    used: list = field(default_factory=list)
    missed: list = field(default_factory=list)
    revokes: list = field(default_factory=list)
    ended: int | None = None  # the revision that deleted its keys at its end

    def may_expire(self, earliest, latest, incarnations):
        """Can it have run out in [earliest, latest]? Not before the TTL after the last keep-alive
        was sent, nor before the TTL after the start of the server that ends it."""
        low = max(earliest, max(sent for sent, _ in self.renewed) + self.ttl)
        return any(max(low, server.spawned + self.ttl) <= min(latest, server.dead)
                   for server in incarnations)

    def may_end(self, history, revision):
        return self.may_expire(history.after[revision], history.before[revision],
                               history.run.incarnations)

    def dead_by(self, history):
        """The earliest time at which it is known to be dead."""
        times = [when for when, _ in self.missed]
        times += [revoke.end for revoke in self.revokes if revoke.answer]
        if self.ended is not None:
            times.append(history.before[self.ended])
        return min(times, default=math.inf)


def collect(operations):
    """All granted leases by their ids, with what the clients know of them."""
    leases = {}
    for operation in operations:
        if isinstance(operation.answer, GrantAnswer):
            grant = operation.answer
            lease = leases.setdefault(grant.lease, Lease(grant.lease, grant.ttl))
            lease.renewed.append((operation.start, grant.ttl))
    for operation in operations:
        for number in _leases_of(operation.request):
            if number in leases:
                _note(leases[number], operation)
    return leases


def _leases_of(request):
    if isinstance(request, (KeepAlive, Revoke)):
        return {request.lease}
    if isinstance(request, Txn):
        return {act.lease for act in request.success + request.failure
                if isinstance(act, Put) and act.lease}
    return ()


def _note(lease, operation):
    if isinstance(operation.request, Revoke):
        lease.revokes.append(operation)
    if NO_LEASE in operation.refused:
        lease.missed.append((operation.end, operation))
    elif isinstance(operation.answer, KeepAliveAnswer):
        if operation.answer.ttl:
            lease.renewed.append((operation.start, operation.answer.ttl))
            lease.used.append(operation.start)
        else:
            lease.missed.append((operation.end, operation))
    elif isinstance(operation.answer, TxnAnswer):
        acts = operation.request.branch(operation.answer.succeeded)
        if any(isinstance(act, Put) and act.lease == lease.lease for act in acts):
            lease.used.append(operation.start)


def lease_problems(history):
    """What the clients saw of each lease fits one life."""
    grants = [operation.answer.lease for operation in history.run.operations
              if isinstance(operation.answer, GrantAnswer)]
    if len(set(grants)) != len(grants):
        yield "h: a lease was granted twice"
    for lease in history.leases.values():
        for _, ttl in lease.renewed:
            if ttl != lease.ttl:
                yield f"h: a keep-alive answers {ttl}, not {lease.ttl}, for {lease.lease}"
        for when, operation in lease.missed:
            revoked = any(revoke.start < when and not revoke.refused for revoke in lease.revokes)
            if not revoked and not lease.may_expire(-math.inf, when, history.run.incarnations):
                yield f"h: {operation} misses {lease} before its time; servers " \
                      f"{history.run.incarnations}"
        dead_by = lease.dead_by(history)
        late = [sent for sent in lease.used if sent > dead_by]
        if late:
            yield f"h: {lease} was alive at {late[0]} and dead by {dead_by}"


def key_problems(history):
    """No key is under a lease that was never granted or is over, and none is left at the end."""
    for event in history.run.events:
        number = event.kv.lease if event.kv else 0
        if not number:
            continue
        lease = history.leases.get(number)
        if lease is None:
            yield f"h: {event} is under a lease that nobody was granted"
        elif lease.ended is not None and event.revision > lease.ended:
            yield f"h: {event} is under a lease that was over at {lease.ended}"
    for number in history.versions.leased:
        keys = history.versions.under_lease(number, history.versions.last)
        if keys:
            yield f"h: {keys} outlived lease {number} to the end"
