"""The paper's evaluation, beside the library and never imported by it.

`protocol` says what a unit of work is, `store` keeps each as one file, `run` carries them out;
`performance`, `ablation`, `alignment` and `substitutes` are the four kinds of unit. `results` turns
units into the small files that are committed, and everything else reads those: `statistics`,
`tables`, `figures` and `report`, which writes docs/paper.md.

The peers are those of `benchmarks/peers.py`: run from the root of the repository.
"""
