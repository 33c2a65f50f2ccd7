"""All experiments, in the order of the report; a room that brings new ones adds its line here."""

from __future__ import annotations

from fnmatch import fnmatchcase

from panjoin.bench import engine, hardware, index_figures, ratios, scaling, start, system_figures, systems
from panjoin.bench.experiment import Experiment
from panjoin.bench.peers import experiments as peers
from panjoin.bench.pipeline import figures as pipeline
from panjoin.errors import ParameterError
from panjoin.suggest import choices

EXPERIMENTS: tuple[Experiment, ...] = (
    *engine.EXPERIMENTS,
    *system_figures.EXPERIMENTS,
    *scaling.EXPERIMENTS,
    *systems.EXPERIMENTS,
    *index_figures.EXPERIMENTS,
    *ratios.EXPERIMENTS,
    *peers.EXPERIMENTS,
    *start.EXPERIMENTS,
    *hardware.EXPERIMENTS,
    *pipeline.EXPERIMENTS,
)


def chosen(names: list[str]) -> list[Experiment]:
    """Those that are named, patterns such as "index.*" allowed; "all" is all. In the order of the report."""
    known = [each.name for each in EXPERIMENTS]
    wanted = set()
    for name in names:
        found = known if name == "all" else [each for each in known if fnmatchcase(each, name)]
        if not found:
            raise ParameterError(f"no experiment is called {name!r}; {choices(name, known)}")
        wanted |= set(found)
    return [each for each in EXPERIMENTS if each.name in wanted]
