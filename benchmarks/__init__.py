"""fewatoms beside its peers, on the same problems, and beside its own earlier versions: `python -m benchmarks`."""
