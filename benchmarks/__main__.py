"""`python -m benchmarks NAME`, from the root of the repository."""

import os

from benchmarks.measure import THREADS

os.environ.update(THREADS)  # before NumPy is loaded: BLAS reads it then; processes started from here inherit it

from benchmarks.cli import main

if __name__ == "__main__":
    main()
