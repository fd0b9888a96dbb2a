"""Machine code of all searches, made before anybody waits for it."""

from fewatoms.proofs.machine import Machine
from fewatoms.proofs.smooth import nodes
from fewatoms.proofs.squares import loops


def make():
    """Make what is not there yet; nothing where it is forbidden."""
    for module in (loops, nodes):
        for machine in [known for known in vars(module).values() if isinstance(known, Machine)]:
            if machine.wanted:
                machine.now()
