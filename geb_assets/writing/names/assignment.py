"""The people of one clip and the cast: one joint assignment, nobody twice in one frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def joint(
    assigned: Mapping[str, str], frames: Mapping[str, Collection[int]], cast: Sequence[str]
) -> dict[str, str]:
    """Observation to cast name, of what a model assigned in one clip.

    ``frames`` are the frames in which each observation is visible. A name outside the cast counts
    as unknown. Two observations of one frame cannot be one person: where they were given one name,
    neither keeps it, since the model has confused them.
    """
    known = {one: name for one, name in assigned.items() if name in cast}
    return {
        one: name
        for one, name in known.items()
        if not any(
            other != one and known[other] == name and set(frames[one]) & set(frames[other])
            for other in known
        )
    }
