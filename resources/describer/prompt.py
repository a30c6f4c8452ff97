"""What a vision-language model is told of an encounter (the rules of the paper's Figures 6 and 7).

The wording is this project's own. Its digest is part of the describer's identity, so that changed
words restart descriptions and nothing before them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

from resources.chat.material import MATERIAL, quoted
from resources.describer import Encounter, Line

View = Literal["first_person", "own_frames", "game"]
"""`first_person`: a worn camera with narration and dialogue; `own_frames`: pictures alone, nobody
named (MultiHop-EgoQA); `game`: a game's stream, whose own names are used (paper, appendix F)."""

_OPENING: dict[View, str] = {
    "first_person": (
        "The pictures were taken by a camera that I wear on my head; they follow ONE physical "
        "thing."
    ),
    "own_frames": (
        "The pictures were taken by a camera worn on a head; they follow ONE physical thing."
    ),
    "game": "The pictures are from the stream of a game; they follow ONE thing of its world.",
}

_PEOPLE: dict[View, str] = {
    "first_person": """# Me and the others
* I wear the camera{wearer}. Write of me as I, me, my: never as a wearer, an operator or a user.
* A hand or arm that comes in from the edge of the picture, with no body to be seen behind it, is
  mine. A hand that can be followed back to a body in the picture belongs to that body, however
  near the boxed thing it is.
* What somebody else does is told as theirs. Call others by what is seen of them, or by a name
  that a line below gives.""",
    "own_frames": """# People
* A hand or arm that comes in from the edge of the picture, with no body to be seen behind it,
  belongs to whoever wears the camera: write of them as I, me, my. A hand that can be followed back
  to a body in the picture belongs to that body.
* What somebody else does is told as theirs. Nobody has a name here: people are called by what is
  seen of them.""",
    "game": """# The player and the characters
* Whoever plays is "the player". What a character does is told as theirs.
* Call a character, creature, place or item by the name that the game itself gives it, on the
  screen or in a line below; where it gives none, by what is seen.
* Health bars, icons, maps, captions of the interface and the streamer's own picture are no things
  of the game's world.""",
}

_THING = """# The boxed thing
* The RED BOX was drawn by a program. Say what is inside it, never a container of the scene that
  happens to lie there as well.
* The full pictures show which thing is meant and how far it reaches; the close views show its
  detail and not its extent.
* The box follows the outline of one thing. What lies on it, is in it or stands beside it is
  another thing, even in the middle of the close view, even while a hand is busy with it.
* A box around a surface or a piece of furniture means the surface or the furniture, and none of
  what is on it: around a desk with a laptop it is the DESK, even if all eyes are on the laptop.
* A boxed person is somebody who acts: tell what they DO, and their look well enough to know them
  from the others.
* A detector called it "{label}". That is a hint and may be wrong; believe the pictures."""

_EVIDENCE = """# An action needs evidence
* Tell a step only with something to point at: a picture in which a hand TOUCHES the boxed thing,
  or in which it has MOVED against surroundings that stand still{or_line}.
* A hand near it, before it, or busy with something else does not touch it. A camera that moves
  moves nothing."""

_LINE_EVIDENCE = """
* A line shortly before or after the pictures counts as well: a thing often comes into view once it
  has been picked up and leaves it when it is put down, so that quiet pictures do not mean that
  nothing happened to it."""

_ABSTAIN = """
* With nothing to point at, abstain, even for things that are usually handled."""

_LINES = """# Narration and dialogue
Both run on one clock with the pictures: [0s] is the first full picture, lines before it have
negative times, and they reach from before the pictures to after them. The thing is in the pictures
from {first} to {last}; the lines tell its story over the whole stretch. A line marked * falls
within that time.{mine}

Narration:
{captions}

Dialogue:
{transcripts}

# How to use the lines
* {material}
* The PICTURES decide what the thing is. A line names what its writer had in mind, mostly what a
  hand is busy with and not what the box is around: take from it a more exact word for
  what you SEE, no more.
* Use the lines for what happened: the steps taken with this thing and by whom, and what the people
  there said, asked and decided about it.
* Where no line is about this thing, write what the pictures show and keep it short."""

_MINE = """ "I:" marks what I say, any other name is whoever speaks. The narration is mine as well:
an "I" in a line is me and never the boxed person, and a step told of somebody stays theirs."""

_REPLY = """# The reply
One JSON object and nothing else, in English. Its readers never see the pictures and know of no
recording. Name none, neither video nor clip, frames, footage, sequence or session; no picture
numbers outside action_evidence. For "throughout the video" say it plainly ("it stayed on the
table") or name the time in words ("while the bags were unpacked"). The box is a tool as well: no
sentence begins with it or with "this object", but with the THING or with whoever acts on it.

object_name: 1 to 5 words, what it really is, read from the pictures (a "bottle" may be a "soap
  dispenser"){own_body}. {naming} Only where the pictures are too unclear: "{label}".
is_person: true if the box is around a person, also one seen in part; false for a part of my own
  body and for what somebody wears or carries.
appearance: at most 15 words, colour, material, what it is.
location: at most 15 words, the room or place it is KEPT in, also where somebody is carrying it at
  the moment; "unclear" if it cannot be told.
action: at most 15 words, what is DONE to it in this stretch, with "I" where I do it; exactly "none"
  without evidence. For a person: what THEY do.
action_evidence: at most 12 words, the IMAGE number that shows touch or movement ("IMAGE 5: I hold
  the lid"){or_time}; exactly "none" if action is "none".
event_desc: at most 50 words, every step taken with it; exactly "no activity" if there was none.
summary: 1 to 3 sentences that a question about an event should find: what happened with this thing
  from first to last, who took part{and_said}. EVERY sentence is about this thing: one that would be
  as true of any other thing in the room is left out, and one sentence is a full answer for a thing
  that nobody touched{and_named}. {person_first}
unique_mark: what a twin from the same shop would lack or show otherwise, such as a printed word,
  damage, dirt or something stuck on; exactly "none" where nothing does. Of people, a thing that
  they keep on from one day to the next.
reid_summary: 1 to 3 sentences to pick it out at another hour and place. Leave out whatever may have
  changed by then: what is done with it, how it is turned or lit, whether it stands open. No other
  thing of its kind{no_names}. For a person: hair, face and lasting marks, glasses, build, age,
  clothing, as far as they are seen.
source_evidence: {sources}
confidence: "high" where one thing fills the box throughout and is shown well; "low" where the
  box changes from thing to thing, or is so tiny or unsharp that one guesses; else "medium"."""

_NAMING: dict[View, str] = {
    "first_person": "Never a person's NAME: say what is SEEN of them.",
    "own_frames": "Never a person's NAME: say what is SEEN of them.",
    "game": "A character or item by the name the game gives it.",
}
_PERSON_FIRST: dict[View, str] = {
    "first_person": (
        'Where the box is around a PERSON, begin with that person ("She", "He"): tell what that '
        "person does and says; I come in only where they deal with me, and they are called by what "
        "is SEEN of them. A name in a line is whoever SPOKE: it can name others, never the boxed "
        "one."
    ),
    "own_frames": (
        'Where the box is around a PERSON, begin with that person ("She", "He") and tell what that '
        "person does; they are called by what is SEEN of them."
    ),
    "game": (
        "Where the box is around a CHARACTER, the first word is their name: the steps are THEIRS."
    ),
}
_SOURCES = """the [Ns] times of the lines that were used, each with at most 6 words on what fits;
  exactly "none" if none was."""

TEMPLATES = (
    _OPENING, _PEOPLE, _THING, _EVIDENCE, _LINE_EVIDENCE, _ABSTAIN, _LINES, _MINE, _REPLY, _NAMING,
    _PERSON_FIRST, _SOURCES, MATERIAL,
)  # fmt: skip
VERSION = sha256(repr(TEMPLATES).encode()).hexdigest()[:8]
"""Changes with every word above."""


def instructions(encounter: Encounter, view: View) -> str:
    """The whole text that goes before the pictures."""
    told = view != "own_frames"
    wearer = f" (my name is {encounter.wearer})" if encounter.wearer else ""
    parts = [
        " ".join([_OPENING[view], _pictures(encounter)]),
        _PEOPLE[view].format(wearer=wearer),
        _THING.format(label=encounter.label),
        _EVIDENCE.format(or_line=", or a line below that states it, by its [Ns] time" * told)
        + _LINE_EVIDENCE * told
        + _ABSTAIN,
    ]
    if told:
        parts.append(
            _LINES.format(
                first=encounter.cite(encounter.start_s),
                last=encounter.cite(encounter.end_s),
                mine=_MINE if view == "first_person" else "",
                material=MATERIAL,
                captions=_log(encounter, "caption", view),
                transcripts=_log(encounter, "transcript", view),
            )
        )
    parts.append(
        _REPLY.format(
            label=encounter.label,
            own_body='; "my ..." for a part of my own body or clothing' * (view != "game"),
            naming=_NAMING[view],
            or_time=", or the [Ns] time of the line that states the step" * told,
            and_said=", what was said or decided about it, with the help of the lines" * told,
            and_named=" and no line names" * told,
            person_first=_PERSON_FIRST[view],
            no_names="; of people no names at all" * (view != "game"),
            sources=_SOURCES if told else 'exactly "none"',
        )
    )
    return "\n\n".join(parts)


def _pictures(encounter: Encounter) -> str:
    """Which picture is what, and how the full ones lie in time."""
    crops, scenes = len(encounter.crops), encounter.scenes
    said = (
        f"IMAGES 0-{crops - 1} are close views of it."
        if crops > 1
        else ("IMAGE 0 is a close view of it." * crops)
    )
    if not scenes:
        return said
    span = scenes[-1].time_s - scenes[0].time_s
    numbers = f"IMAGES {crops}-{crops + len(scenes) - 1}" if len(scenes) > 1 else f"IMAGE {crops}"
    full = (
        f"{numbers}: full pictures in order of time, with the SAME thing in a RED BOX where it is "
        "seen, so that what happens to it can be followed."
    )
    if len(scenes) > 1:
        step = span / (len(scenes) - 1)
        full += (
            f" They are about {step:.1f} s apart and cover one unbroken stretch of {span:.0f} s."
        )
    return f"{said} {full}".strip()


def _log(encounter: Encounter, kind: str, view: View) -> str:
    lines = [line for line in encounter.lines if line.kind == kind]
    return "\n".join(_line(line, encounter, view) for line in lines) or "(nothing)"


def _line(line: Line, encounter: Encounter, view: View) -> str:
    mark = " *" if encounter.overlaps_span(line) else ""
    own = view == "first_person" and line.speaker and _same(line.speaker, encounter.wearer)
    speaker = f"{'I' if own else line.speaker}: " if line.speaker else ""
    return f"{encounter.cite(line.start_s)}{mark} {quoted(speaker + line.text)}"


def _same(speaker: str, wearer: str) -> bool:
    return speaker.casefold() in (wearer.casefold(), "i", "me")
