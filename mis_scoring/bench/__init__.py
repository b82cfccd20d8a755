"""Rates: of the CPU engines, of GPU engines, of the whole Ray stage; and where a forward's time goes.

`python -m mis_scoring.bench` measures this machine's CPU; `.gpu`, `.ray_stage` and `.profile` are programs, too.
"""
