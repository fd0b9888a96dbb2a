"""fewatoms: explain data with few building blocks.

    s = fewatoms.fit(M, b, atoms=fewatoms.SignedOneHot(n), k=20, misfit=1e-3)

finds x with |b - Mx| <= 1e-3 |b| made of at most 20 atoms, and says what is proven about it. The public names are
listed in `_public.py`; they are imported when the first of them is asked for: `fewatoms --help` does not wait for NumPy
and SciPy.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fewatoms._renamed import moved

if TYPE_CHECKING:
    from fewatoms._public import *  # noqa: F403
    from fewatoms._public import __all__ as __all__
else:

    def __getattr__(name):
        """A room of the house, or a public name, of which all are imported then."""
        if name.startswith("__") and name != "__all__":  # what Python itself asks for
            return moved(__name__)(name)
        if find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        public = import_module(f"{__name__}._public")
        globals().update({known: getattr(public, known) for known in ("__all__", *public.__all__)})
        return globals()[name] if name in globals() else moved(__name__)(name)

    def __dir__():
        return sorted({*globals(), *import_module(f"{__name__}._public").__all__})


__version__ = "0.2.0"
