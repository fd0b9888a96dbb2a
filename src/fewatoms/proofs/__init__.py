"""Proofs that no other k atoms are better: `fewatoms.prove`."""
