"""Identity notes: which ids of one name may be one thing, and which were proven different."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

Id = TypeVar("Id", bound=Hashable)

LONGEST = 12
"""Most ids of one name that are compared: maximal cliques grow exponentially (spec 9.39)."""

_ENTITY = re.compile(r".*/e(\d+)")


def handle(entity: object) -> str:
    """What an entity is called on the page: ``ego/e000042`` is ``object#42``."""
    text = str(entity)
    found = _ENTITY.fullmatch(text)
    if found:
        return f"object#{int(found[1])}"
    return f"object#{text}" if text.isdecimal() else text


def identity_notes(names: Mapping[Id, str], separated: Collection[frozenset[Id]]) -> list[str]:
    """The lines of the note on ids that share a display name, without its heading.

    ``names`` maps each id to its display name, in the order shown; ``separated`` holds the pairs
    proven different. A SAME line is a maximal clique of ids that nothing separates, a DIFFERENT
    line a maximal clique of ids that are all separated from each other; the latter says so when it
    holds every id of the name. At most the first 12 ids of a name are compared (spec 9.39).
    """
    pairs = set(separated)
    of_name: dict[str, list[Id]] = {}
    for entity, name in names.items():
        of_name.setdefault(" ".join(name.split()).casefold(), []).append(entity)
    lines: list[str] = []
    for entities in of_name.values():
        shown = entities[:LONGEST]
        name = " ".join(names[shown[0]].split())
        apart = {
            one: {other for other in shown if other != one and frozenset((one, other)) in pairs}
            for one in shown
        }
        unresolved = {one: set(shown) - apart[one] - {one} for one in shown}
        lines += [
            f"{name} — these may be THE SAME object: {_listed(clique)}."
            for clique in cliques(shown, unresolved)
        ]
        for clique in cliques(shown, apart):
            suffix = " (none of them may be the same)" if len(clique) == len(entities) else ""
            lines.append(f"{name} — these are DIFFERENT objects: {_listed(clique)}{suffix}.")
    return lines


def _listed(entities: Sequence[object]) -> str:
    return ", ".join(handle(entity) for entity in entities)


def cliques(order: Sequence[Id], near: Mapping[Id, set[Id]]) -> list[list[Id]]:
    """Maximal cliques of two or more, each in the given order, sorted by it (Bron-Kerbosch).

    ``near`` holds the neighbours of each of ``order``.
    """
    place = {entity: number for number, entity in enumerate(order)}

    def grow(clique: set[Id], open_: set[Id], closed: set[Id]) -> Iterator[list[Id]]:
        if not open_ and not closed:
            if len(clique) > 1:
                yield sorted(clique, key=place.__getitem__)
            return
        pivot = max(open_ | closed, key=lambda entity: (len(near[entity] & open_), -place[entity]))
        for entity in sorted(open_ - near[pivot], key=place.__getitem__):
            yield from grow(clique | {entity}, open_ & near[entity], closed & near[entity])
            open_ = open_ - {entity}
            closed = closed | {entity}

    return sorted(
        grow(set(), set(order), set()), key=lambda clique: [place[entity] for entity in clique]
    )
