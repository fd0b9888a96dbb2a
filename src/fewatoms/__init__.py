"""fewatoms: explain data with few building blocks.

    s = fewatoms.fit(M, b, atoms=fewatoms.SignedOneHot(n), k=20, misfit=1e-3)

finds x with |b - Mx| <= 1e-3 |b| made of at most 20 atoms, and says what is proven about it. The public names are
listed in `_public.py`.
"""

import os
import sys

from fewatoms._renamed import moved

__version__ = "0.2.0"

# The command `fewatoms` reads its arguments first: who asks for help does not wait for NumPy and SciPy. What it runs
# then finds everything here: see `cli`.
_started = os.path.splitext(os.path.basename("".join(sys.argv[:1])))[0]
if _started != "fewatoms" and sys.orig_argv[1:3] != ["-m", "fewatoms"]:
    from fewatoms._public import *  # noqa: F403
    from fewatoms._public import __all__ as __all__

__getattr__ = moved(__name__)
