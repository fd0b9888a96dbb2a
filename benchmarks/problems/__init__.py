"""Problems, drawn or read, each with the judge of its answers: one formula for everybody.

A generator takes `seed`, and `folder` where it reads data. A problem has what solvers are told of it (k, misfit ...),
`judge(answer)`, which gives the figures and what may be drawn, and `memory(extra)`, which puts bytes into units.
`small(name)` of each module is a tiny problem of the same kind, for imports and compilation.
"""
