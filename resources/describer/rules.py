"""The embedded describer: rules over what can be seen and read; no model, no guesses.

What it looks like comes from pixels alone, what happened from lines that name it or from a
measured displacement. Where neither speaks it abstains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from resources.describer import (
    NO_ACTIVITY,
    NONE,
    UNCLEAR,
    Description,
    DescriptionFailed,
    Encounter,
    Line,
)
from resources.describer.colours import COLOURS, colour_shares, named_colours
from resources.describer.reading import Mention, mentions
from resources.describer.vocabulary import PERSON, article, base_verb, shown
from resources.identity import ModelIdentity

_FURNITURE = ("table", "couch", "bed", "bench", "sink", "oven", "refrigerator", "chair", "toilet")
"""Where things belong, when their boxes touch it."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")
_WEARER = re.compile(r"^#?\s*C\s+C\b\s*|^#C\b\s*")
_STRANGER = re.compile(r"#[OoXx]\b\s*")
_IRREGULAR_I = {"is": "am", "has": "have", "does": "do", "goes": "go", "was": "was"}
_SMALL, _LARGE = 0.01, 0.20
"""Share of the frame under which a subject is seen small, and from which seen close."""
_READABLE_PX = 32
_SURE, _UNSURE = 0.6, 0.35
_MOST_EVENTS, _MOST_QUOTES = 3, 2


@dataclass(frozen=True)
class _Seen:
    """What the pixels and boxes say."""

    name: str
    person: bool
    colours: tuple[str, ...]
    place: str
    size: str
    near: tuple[str, ...]
    moved: str | None
    moved_widths: float


class RulesDescriber:
    """Describes an encounter by rules; one object serves any number of threads.

    ``colour_share``: share of the subject from which a colour is named. ``move_share``:
    displacement in box widths from which it is said to move. ``touch_iou``: IoU from which another
    box is said to touch it.
    """

    def __init__(
        self, *, colour_share: float = 0.2, move_share: float = 0.5, touch_iou: float = 0.02
    ) -> None:
        self._colour_share = colour_share
        self._move_share = move_share
        self._touch_iou = touch_iou

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("rules", "1", "")

    @property
    def in_flight(self) -> int:
        return 1

    def describe(self, encounter: Encounter) -> Description:
        """See :meth:`resources.describer.Describer.describe`."""
        if len(encounter.boxes) == 0:
            raise DescriptionFailed("the encounter holds no box")
        shares = colour_shares(encounter.crops)
        seen = self._seen(encounter, named_colours(shares, self._colour_share))
        known = dict(zip(COLOURS, shares.tolist(), strict=True)) if shares.any() else {}
        rivals = any(shown(other.label) == seen.name for other in encounter.neighbours)
        read = mentions(
            encounter.lines,
            seen.name,
            colours=known,
            least_share=self._colour_share,
            rivals=rivals,
            during=[encounter.overlaps_span(line) for line in encounter.lines],
        )
        return _compose(encounter, seen, read)

    def _seen(self, encounter: Encounter, colours: tuple[str, ...]) -> _Seen:
        name = shown(encounter.label)
        x1, y1, x2, y2 = np.median(encounter.boxes.astype(np.float64), axis=0)
        area = (x2 - x1) * (y2 - y1) / (encounter.width * encounter.height)
        touching = sorted(
            (other for other in encounter.neighbours if other.overlap >= self._touch_iou),
            key=lambda other: (-other.overlap, other.label),
        )
        near = dict.fromkeys(shown(other.label) for other in touching)
        moved, widths = _displacement(encounter, self._move_share)
        return _Seen(
            name=name,
            person=name == PERSON,
            colours=colours,
            place=_place((x1 + x2) / 2 / encounter.width, (y1 + y2) / 2 / encounter.height),
            size="seen small" if area < _SMALL else "seen close" if area >= _LARGE else "",
            near=tuple(other for other in near if other != name)[:3],
            moved=moved,
            moved_widths=widths,
        )


def _displacement(encounter: Encounter, least: float) -> tuple[str | None, float]:
    """Where the subject went against still surroundings, and how far, in box widths.

    Only where the camera's own motion is known: a moving camera moves everything.
    """
    if encounter.camera is None or len(encounter.boxes) < 2:
        return None, 0.0
    boxes = encounter.boxes.astype(np.float64)
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2 - encounter.camera.astype(np.float64)
    few = max(1, len(centres) // 5)
    across, down = np.median(centres[-few:], axis=0) - np.median(centres[:few], axis=0)
    width = max(float(np.median(boxes[:, 2] - boxes[:, 0])), 1.0)
    widths = float(np.hypot(across, down)) / width
    if widths < least:
        return None, widths
    if abs(across) >= abs(down):
        return ("to the right" if across > 0 else "to the left"), widths
    return ("down" if down > 0 else "up"), widths


def _place(across: float, down: float) -> str:
    """Where in the view a centre lies, given as shares of its width and height."""
    column = "left" if across < 1 / 3 else "right" if across > 2 / 3 else ""
    row = "upper" if down < 1 / 3 else "lower" if down > 2 / 3 else ""
    if row and column:
        return f"at the {row} {column}"
    if column:
        return f"on the {column}"
    return {"upper": "at the top", "lower": "at the bottom", "": "in the middle"}[row]


def _compose(encounter: Encounter, seen: _Seen, read: Sequence[Mention]) -> Description:
    lines = encounter.lines
    certain = _distinct([m for m in read if m.certain], encounter)
    steps = [m for m in certain if m.handled]
    noted = [m for m in certain if not m.handled and lines[m.line].kind == "caption"]
    spoken = [m for m in certain if not m.handled and lines[m.line].kind == "transcript"]
    possible = _distinct([m for m in read if not m.certain], encounter)
    told = sorted(
        (_nearest(steps, encounter) + _nearest(noted, encounter))[:_MOST_EVENTS],
        key=lambda m: m.line,
    )
    quoted = sorted(_nearest(spoken, encounter)[:_MOST_QUOTES], key=lambda m: m.line)
    doubtful = [] if certain else _nearest(possible, encounter)[:1]
    event_steps = _fitting(steps, lines, 50)
    used = sorted({m.line: m for m in [*told, *quoted, *doubtful, *event_steps]}.values(),
                  key=lambda m: m.line)  # fmt: skip

    action, evidence = _action(encounter, seen, steps)
    events = [_narrated(lines[m.line].text) for m in event_steps]
    if seen.moved:
        events.append(_sentence(f"The {seen.name} moved {seen.moved}"))
    return Description(
        object_name=" ".join(seen.name.split()[:5]),
        is_person=seen.person,
        appearance=_look(seen),
        location=_belongs(seen),
        action=action,
        action_evidence=evidence,
        event_desc=_cut(" ".join(_sentence(event) for event in events), 60) or NO_ACTIVITY,
        summary=_summary(encounter, seen, told, quoted, doubtful),
        unique_mark=NONE,
        reid_summary=_sentence(f"{article(_look(seen)).capitalize()} {_look(seen)}"),
        source_evidence="; ".join(_source(encounter, seen, m) for m in used) or NONE,
        confidence=_confidence(encounter, seen, certain, possible),
    )


def _distinct(found: Sequence[Mention], encounter: Encounter) -> list[Mention]:
    """One mention of each wording, the one nearest to the encounter, in time order."""
    nearest = _nearest(found, encounter)
    first: dict[str, Mention] = {}
    for mention in nearest:
        first.setdefault(_narrated(encounter.lines[mention.line].text).casefold(), mention)
    return sorted(first.values(), key=lambda m: m.line)


def _nearest(found: Sequence[Mention], encounter: Encounter) -> list[Mention]:
    """By distance of the line from the encounter; lines during it first, in time order."""

    def away(mention: Mention) -> tuple[float, int]:
        line = encounter.lines[mention.line]
        gap = max(line.start_s - encounter.end_s, encounter.start_s - line.end_s, 0.0)
        return gap, mention.line

    return sorted(found, key=away)


def _fitting(steps: Sequence[Mention], lines: Sequence[Line], words: int) -> list[Mention]:
    """The steps, in time order, whose sentences fit into so many words together."""
    kept = []
    for mention in steps:
        words -= len(_narrated(lines[mention.line].text).split())
        if words < 0:
            break
        kept.append(mention)
    return kept


def _action(encounter: Encounter, seen: _Seen, steps: Sequence[Mention]) -> tuple[str, str]:
    """The step nearest to the encounter, and its evidence; else a measured displacement."""
    if steps:
        line = encounter.lines[_nearest(steps, encounter)[0].line]
        text = _narrated(line.text)
        return _cut(text.rstrip("."), 15), f"{encounter.cite(line.start_s)} the line states it"
    if seen.moved is None:
        return NONE, NONE
    action = f"moves {seen.moved}" if seen.person else f"is moved {seen.moved}"
    boxed = [place for place, scene in enumerate(encounter.scenes) if scene.box is not None]
    widths = f"displaced by {seen.moved_widths:.1f} of its widths"
    if len(boxed) < 2:
        return action, widths
    first, last = (len(encounter.crops) + place for place in (boxed[0], boxed[-1]))
    return action, f"IMAGE {last}: {widths} since IMAGE {first}"


def _look(seen: _Seen) -> str:
    colours = " and ".join(seen.colours)
    if seen.person:
        return f"person in {colours}" if colours else "person"
    return f"{colours} {seen.name}".strip()


def _belongs(seen: _Seen) -> str:
    place = next((other for other in seen.near if other in _FURNITURE), None)
    return UNCLEAR if place is None or seen.person or seen.name in _FURNITURE else f"by the {place}"


def _summary(
    encounter: Encounter,
    seen: _Seen,
    told: Sequence[Mention],
    quoted: Sequence[Mention],
    doubtful: Sequence[Mention],
) -> str:
    """The subject as seen, then what lines say of it. Starts with the subject."""
    near = f" by the {_listed(seen.near)}" if seen.near else ""
    size = f"{seen.size} " if seen.size else ""
    view = f"The {_look(seen)} was {size}{seen.place}{near}"
    sentences = [_sentence(view + (f" and moved {seen.moved}" if seen.moved else ""))]
    lines = encounter.lines
    if told:
        events = [_cut(_narrated(lines[m.line].text).rstrip("."), 20) for m in told]
        sentences.append(_sentence("; then ".join(dict.fromkeys(events))))
    if quoted:
        sentences.append(_sentence("; ".join(_said(lines[m.line]) for m in quoted)))
    elif doubtful:
        line = lines[doubtful[0].line]
        words = _said(line) if line.kind == "transcript" else f'"{_cut(_narrated(line.text), 20)}"'
        what = "They" if seen.person else "It"
        sentences.append(_sentence(f"{what} may be the {seen.name} meant by {words}"))
    return " ".join(sentences)


def _source(encounter: Encounter, seen: _Seen, mention: Mention) -> str:
    verb = "states a step with" if mention.handled else "names" if mention.certain else "may mean"
    return f"{encounter.cite(encounter.lines[mention.line].start_s)} {verb} the {seen.name}"


def _confidence(
    encounter: Encounter, seen: _Seen, certain: Sequence[Mention], possible: Sequence[Mention]
) -> Literal["low", "medium", "high"]:
    """`low` where too small, too unsure or all that is read may mean another; see Figure 7."""
    boxes = encounter.boxes.astype(np.float64)
    side = float(np.median(np.minimum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])))
    if side < _READABLE_PX or encounter.confidence < _UNSURE or (possible and not certain):
        return "low"
    clear = encounter.confidence >= _SURE and bool(seen.colours) and not possible
    return "high" if clear else "medium"


def _narrated(text: str) -> str:
    """A narration line in the first person, on one line: `#C C opens` is `I open`."""
    clean = _clean(text)
    rest = _WEARER.sub("", clean)
    if rest != clean:
        first, _, others = rest.partition(" ")
        others = re.sub(r"\b(his|her)\b", "my", others)
        clean = f"I {_first_person(first)} {others}".strip()
    return _STRANGER.sub("Someone ", clean).strip()


def _first_person(verb: str) -> str:
    if verb in _IRREGULAR_I:
        return _IRREGULAR_I[verb]
    if verb.endswith("s"):
        return base_verb(verb) or verb.removesuffix("s")
    return verb


def _said(line: Line) -> str:
    speaker = _clean(line.speaker) or "Someone"
    return f'{speaker} said: "{_cut(_clean(line.text), 20)}"'


def _clean(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).replace('"', "'").split())


def _cut(text: str, words: int) -> str:
    parts = text.split()
    return text if len(parts) <= words else " ".join(parts[:words]) + " ..."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return text
    return text if text.endswith((".", "!", "?", '."')) else f"{text}."
