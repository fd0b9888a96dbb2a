"""The paper's statements, one file each, on problems whose solutions are known by construction."""
