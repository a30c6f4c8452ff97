"""From the assignments of one day to the entities that are named on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from geb_assets.naming import Naming
from geb_assets.writing.names.wardrobe import match


@dataclass(frozen=True)
class Look:
    """What one encounter with a person says of their look, and from when it may be seen."""

    observation: str
    entity: str
    day: int
    text: str
    visible_from: float


@dataclass(frozen=True)
class Clothing:
    """What one person of the cast wears on one day."""

    cast_name: str
    day: int
    features: tuple[str, ...]
    visible_from: float


def looks_by_person(
    looks: Sequence[Look], assigned: Mapping[str, str]
) -> dict[tuple[str, int], list[Look]]:
    """(person, day) to the looks that were assigned to them."""
    found: dict[tuple[str, int], list[Look]] = {}
    for look in looks:
        if look.observation in assigned:
            found.setdefault((assigned[look.observation], look.day), []).append(look)
    return found


def named(
    looks: Sequence[Look], wardrobe: Sequence[Clothing], unread: Collection[int], share: float
) -> list[tuple[Naming, tuple[str, ...]]]:
    """The namings of all days, each with the features that decided it.

    Nobody is named on the days ``unread``, on which somebody's clothing could not be told: whoever
    misses in a wardrobe would leave a shared feature to somebody else alone.
    """
    days = sorted({one.day for one in wardrobe} - set(unread))
    return [found for day in days for found in named_on(day, looks, wardrobe, share)]


def named_on(
    day: int, looks: Sequence[Look], wardrobe: Sequence[Clothing], share: float
) -> list[tuple[Naming, tuple[str, ...]]]:
    """The namings of one day, each with the features that decided it.

    A naming is known once the day's profiles and the looks that it rests on are.
    """
    today = [one for one in wardrobe if one.day == day]
    profiles = {one.cast_name: one.features for one in today}
    known = max((one.visible_from for one in today), default=0.0)
    by_entity: dict[str, list[Look]] = {}
    for look in looks:
        if look.day == day:
            by_entity.setdefault(look.entity, []).append(look)
    found: list[tuple[Naming, tuple[str, ...]]] = []
    for entity, own in sorted(by_entity.items()):
        matched = match([look.text for look in own], profiles, share)
        if matched is not None:
            at = max(known, *(look.visible_from for look in own))
            found.append((Naming(entity, day, matched[0], at), matched[1]))
    return found
