"""The chat controller's page: its rules, examples, and the question with what was found."""

from __future__ import annotations

from geb_assets.clock import DAY_S, Clock
from geb_assets.reading.controller import Progress
from geb_assets.reading.rendering import (
    FENCE_RULE,
    NOTES,
    NOTHING_NEW,
    NOTHING_THERE,
    OBJECTS,
    fenced,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["search", "answer"]},
        "search_query": {"type": "string"},
    },
    "required": ["decision", "search_query"],
    "additionalProperties": False,
}

_RULES = """\
You steer the search of a memory made from a very long video. Each turn you look at a question and
at everything found so far, and choose one step: search the memory once more, or stop because what
was found is enough. You do not answer the question yourself; another reader does, from what you
gathered.

# The two steps
search - ask the memory for more. Write search_query as one whole sentence or question, as you
  would say it to a person; the memory matches meaning, so a row of keywords finds less.
  Good: "Who passed the torch to Mira?"   Poor: "Mira torch hand over person"
  Come from another side each time: another person or object, what came before or after, another
  place. Wording the last query differently brings the same things again.
answer - stop. Choose it as soon as the evidence settles the question. After two searches in a row
  that brought {nothing_new} you have to stop with what there is.

# What you are shown
The question, the time at which it is asked, its choices where it has some, and the log of earlier
rounds: each round's query and what it retrieved. Nothing after the time of the question exists.
Lines headed [Topic: ...] or [Event: ...] are facts from a summary of the whole recording.
A line that says that frames are at hand means that the answering reader will see pictures there.

# Moments and objects
"Moments retrieved" are passages of the recording in the order of time. "Objects now known" may
follow: each entry is one tracked thing or person with the times at which it was seen. Times that a
search has brought have a description; the others are only listed.
- Tracking is automatic and errs both ways: one thing may have been given two ids, and two things
  may share one. It also misses sightings, so the listed times are those that were noticed, not all
  there were.
- The list of same-name ids tells which ids of one name can be one thing. On a line that says
  "may be THE SAME", every id could be one single thing, and their times could all be its times. On
  a line that says "DIFFERENT", the ids were in view together and are certainly several things. An
  id that stands on two "may be" lines could be either of the others, and not both. Read this list
  before you count things or call two sightings the same one.
- For how often something happened, what came first, or who did it first, search for the thing and
  the deed together ("Who lifted the ladder?"). The times listed for a thing are the ones to check.
- A description belongs to one object and was written for it, so words and deeds of its
  surroundings can be credited to it wrongly. Where an entry and a retrieved moment disagree,
  believe the moment, and search for that moment to read it whole.

# Searching by time
A query that names {moment} reads out what was recorded then, in place of a search by meaning: "What
was I doing between {first} and {last}?". Use it for times that you already hold, above all times
listed for an object without a description. One time or one range a query, at most half an hour.
{day_rule}A time bounded on one side only ("before {first}", "after {last}") is searched by meaning
as usual. If a readout brings {nothing_there}, nothing more is known of that time: judge by the
listed times themselves.

# The form of your reply
One JSON object and nothing around it: {{"decision": "search" or "answer", "search_query": "..."}}.
Decide first. search_query is empty when you stop.

# Recorded material
{fence_rule}
"""

_DAY_RULE = "Always write the day with the time; without it the day has to be guessed. "


def system(clock: Clock) -> str:
    """The controller's rules and examples, with times as this recording writes them."""
    rules = _RULES.format(
        nothing_new=NOTHING_NEW,
        nothing_there=NOTHING_THERE,
        moment="a time with its day" if clock.kind == "egolife" else "a time",
        first=clock.show(_EXAMPLE + 41),
        last=clock.show(_EXAMPLE + 520),
        day_rule=_DAY_RULE if clock.kind == "egolife" else "",
        fence_rule=FENCE_RULE,
    )
    return f"{rules}\n# Examples\n{_examples(clock)}"


def prompt() -> tuple[str, ...]:
    """All fixed words of the page, for a digest of them."""
    return _RULES, _DAY_RULE, REPAIR, FENCE_RULE, str(SCHEMA), _examples(Clock("egolife"))


def user(progress: Progress) -> str:
    """The question and the log of its rounds."""
    question = progress.question
    lines = [f"Question: {question.text}"]
    if question.at is not None:
        lines.append(f"Asked at: {question.clock.show(question.at)}")
    if question.choices:
        pairs = zip(question.letters, question.choices, strict=True)
        lines.append("Choices: " + " ".join(f"({letter}) {choice}" for letter, choice in pairs))
    lines.append("Rounds so far:" if progress.rounds else "Rounds so far: none")
    for number, (round_, view) in enumerate(zip(progress.rounds, progress.views, strict=True), 1):
        lines.append(_round(number, round_.query, view))
    lines.append(
        f"Searches left: {progress.rounds_left}. Reply with your decision as one JSON object."
    )
    return "\n".join(lines)


REPAIR = (
    "That reply could not be used: {fault}. Reply again with one JSON object and nothing else, "
    'such as {{"decision": "search", "search_query": "Who passed the torch to Mira?"}} or '
    '{{"decision": "answer", "search_query": ""}}.'
)


def _round(number: int, query: str, view: str) -> str:
    return f"## Round {number}\nsearch_query: {query}\nRetrieved:\n{fenced(view)}"


_EXAMPLE = DAY_S + 9 * 3600
"""Examples lie on the second morning; a `seconds` clock shows the same times as hours."""


def _examples(clock: Clock) -> str:
    def span(start: int, end: int) -> str:
        return f"[{clock.show(_EXAMPLE + start)} - {clock.show(_EXAMPLE + end)}]"

    def shown(*rounds: tuple[str, str]) -> str:
        return "\n".join(_round(number, *round_) for number, round_ in enumerate(rounds, 1))

    def example(title: str, question: str, log: str, reply: str) -> str:
        rounds = f"Rounds so far:\n{log}" if log else "Rounds so far: none"
        return f"## Example: {title}\nQuestion: {question}\n{rounds}\nReply: {reply}\n"

    torch = (
        "Who passed the torch to Mira?",
        f"Moments retrieved (in time order):\n{span(600, 630)} (30sec)\n"
        "| In the dark cellar Oskar hands Mira a torch and goes up the stairs.",
    )
    bucket = (
        "When did I fill the bucket?",
        f"Moments retrieved (in time order):\n{span(0, 30)} (30sec)\n"
        f"| I fill the bucket at the pump.\n{OBJECTS}\n"
        f"{span(4, 7400)} (zinc bucket · object#31) visible at these times:\n{span(4, 26)}\n"
        "| I hold the zinc bucket under the pump until it is full.\n"
        "also seen 2 times (no search has brought these times yet, so they are not described): "
        f"{clock.show(_EXAMPLE + 2600)} - {clock.show(_EXAMPLE + 2640)}, "
        f"{clock.show(_EXAMPLE + 7350)} - {clock.show(_EXAMPLE + 7400)}",
    )
    ladders = (
        "Who lifted the ladder?",
        f"{OBJECTS}\n"
        + "\n".join(
            f"{span(*times)} (ladder · object#{number}) visible at these times:\n{span(*times)}\n"
            f"| {text}"
            for times, number, text in (
                ((100, 110), 50, "A ladder leans on the shed."),
                ((104, 112), 57, "A second ladder lies in the grass."),
                ((9000, 9020), 64, "Oskar carries a ladder round the house."),
            )
        )
        + f"\n{NOTES}\n"
        "ladder — these may be THE SAME object: object#50, object#64.\n"
        "ladder — these may be THE SAME object: object#57, object#64.\n"
        "ladder — these are DIFFERENT objects: object#50, object#57.",
    )
    search = '{{"decision": "search", "search_query": "{}"}}'.format
    stop = '{"decision": "answer", "search_query": ""}'
    return "\n".join(
        (
            example(
                "begin with the question itself",
                "Who gives Mira the torch?",
                "",
                search("Who passed the torch to Mira?"),
            ),
            example(
                "a fact is still missing: follow what was found",
                "Where did the man who gave Mira the torch sleep?",
                shown(torch),
                search("In which room does Oskar go to bed?"),
            ),
            example(
                "the evidence settles it: stop", "Who gives Mira the torch?", shown(torch), stop
            ),
            example(
                "carry a clue into the next query",
                "Who was the last to use the torch?",
                shown(torch),
                search(f"Did Mira or Oskar use the torch after {clock.show(_EXAMPLE + 630)}?"),
            ),
            example(
                "two searches without anything new: stop",
                "Where did I leave my green scarf?",
                shown(
                    ("Where did I put down the green scarf?", NOTHING_NEW),
                    ("Who picked up a green scarf?", NOTHING_NEW),
                ),
                stop,
            ),
            example(
                "counting: check the deed at the times a thing was seen",
                "How often did I fill the bucket?",
                shown(bucket),
                search("Was I filling the zinc bucket again later, or only carrying it past?"),
            ),
            example(
                "fill in a listed time",
                "What did I do with the bucket last?",
                shown(bucket),
                search(
                    f"What was I doing between {clock.show(_EXAMPLE + 7350)} and "
                    f"{clock.show(_EXAMPLE + 7400)}?"
                ),
            ),
            example(
                "things of one name: read the list before counting",
                "Who used the ladder first?",
                shown(ladders),
                search("Who climbed a ladder or leaned one against the wall?"),
            ),
        )
    )
