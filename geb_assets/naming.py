"""Which entity carries which cast name, from what had been named by a time (appendix A, naming).

Used when names are written and when they are read: whatever is decided about names is decided from
the namings known at that time alone, so that nothing later reaches an earlier question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Naming:
    """On one day, one entity was matched to one person of the cast."""

    entity: str
    day: int
    cast_name: str
    named_at: float
    """From when it can be known, s."""


def carried(namings: Iterable[Naming]) -> dict[str, str]:
    """Entity to the name that it carries to all of its days.

    An entity that two days name differently carries no name across days: each day's naming stays
    that day's alone.
    """
    names: dict[str, set[str]] = {}
    for naming in namings:
        names.setdefault(naming.entity, set()).add(naming.cast_name)
    return {entity: next(iter(own)) for entity, own in names.items() if len(own) == 1}


def consolidated(
    names: Mapping[str, str],
    separated: Collection[frozenset[str]],
    sizes: Mapping[str, int],
) -> dict[str, list[str]]:
    """Cast name to the entities that are that person, the largest first.

    Entities of one name are one person, except where two were proven different: of such a pair the
    smaller (in observations; of equals, the later id) loses the name. Larger ones are settled
    first, so that an entity loses its name only to one that keeps it.
    """
    kept: dict[str, list[str]] = {}
    for entity in sorted(names, key=lambda one: (-sizes.get(one, 0), one)):
        own = kept.setdefault(names[entity], [])
        if not any(frozenset((entity, other)) in separated for other in own):
            own.append(entity)
    return kept


def cast_names(
    namings: Iterable[Naming],
    separated: Collection[frozenset[str]],
    sizes: Mapping[str, int],
) -> dict[str, str]:
    """Entity to cast name, after conflicts and the separation veto."""
    people = consolidated(carried(namings), separated, sizes)
    return {entity: name for name, entities in people.items() for entity in entities}
