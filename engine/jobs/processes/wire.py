"""What drivers and their control plane say to each other has a version, since a driver outlives the control plane that
started it, and the next one may be of another version.

    driver says 2, control plane speaks 1 and 2      adopted: it works on
    driver says nothing: it is from before versions  1
    driver says 1, control plane speaks 2 and 3      it stops after its epoch, and is started anew as it is now
    driver says 3, control plane speaks 1 and 2      adopted: what is not understood of its words is let pass

Whoever changes what is said in a way that the other side cannot let pass moves `WIRE` on; `OLDEST_WIRE` follows one
release later. Even a driver that is too old is understood so far that it can be told to stop.
"""

from __future__ import annotations

WIRE = 2
"""The version that drivers of this package speak."""
OLDEST_WIRE = 1
"""The oldest version that a control plane of this package works with."""


def is_spoken(wire: int) -> bool:
    """Whether a control plane of this package works with such a driver."""
    return wire >= OLDEST_WIRE
