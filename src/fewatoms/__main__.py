"""`python -m fewatoms`."""

import sys

from fewatoms.cli import main

if __name__ == "__main__":
    sys.exit(main())
