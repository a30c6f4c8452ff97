"""``geb demo``: renders, builds and scores the demonstration recording, and asks its memory."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geb_assets.building import Ran, build
from geb_assets.cli.output import Output
from geb_assets.cli.record import answer_line, biography_line, deciding
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.tables import TABLES

if TYPE_CHECKING:
    from evaluation.demo.asking import Asked
    from evaluation.demo.render import DemoRecording


def demonstrate(output: Output, seed: int) -> dict[str, Any]:
    """Builds the demonstration of a seed and tells what was found; returns its JSON object."""
    from evaluation.demo.recording import add, name_of
    from evaluation.demo.report import score

    started = time.monotonic()
    name = name_of(seed)
    with output.progress() as progress:
        home = replace(Home.of_environment(), progress=progress)
        output.say("fetching and rendering the demonstration, once; then its memory is built")
        recording = add(home, seed)

        def tell(ran: Ran) -> None:
            output.say(f"{ran.asset:<14} {ran.partition:<20} {ran.seconds:7.1f} s")

        built = build(home, recordings=[name], memories_only=True, tell=tell)
    if built.faults:
        raise GebError(built.faults[0])
    if not built.ran:
        output.say("nothing is stale")
    found = score(home, name, recording)
    rows = {table: home.store.scan(table, recording=name).collect().height for table in TABLES}
    entities = home.store.read("entities", recording=name)
    discards = home.store.read("discards", ["reason", "frames"], recording=name)
    overlay = discards.filter(discards["reason"] == "overlay")
    output.say(f"\nRecording '{name}': {rows['clips']} clips over two days, seed {seed}.")
    output.say(
        f"{rows['detections']} boxes became {rows['observations']} encounters; "
        f"{found.labelled:.0%} of them show one thing of the truth, "
        f"{found.identities_in_two_clips} things were met in two clips or more."
    )
    output.say(
        f"{rows['entities']} biographies, "
        f"{entities.filter(entities['observations'] >= 2).height} of two encounters or more."
    )
    output.say(
        f"Association against the truth: pairwise precision {found.pairwise.precision:.3f}, "
        f"recall {found.pairwise.recall:.3f}, F1 {found.pairwise.f1:.3f}; "
        f"B-cubed F1 {found.b_cubed.f1:.3f}."
    )
    output.say(
        f"The red and the blue cup are {'apart' if found.cups_apart else 'mixed up'}; "
        "the motorbike that left and returned is "
        f"{'in one biography' if found.returning_in_one else 'split'}."
    )
    output.say(
        f"The recorder's overlay: {found.overlay_boxes} boxes found, "
        f"{overlay.height} groups of {int(overlay['frames'].sum())} boxes dropped, "
        f"{found.overlay_observations} kept by mistake."
    )
    asked = _ask(output, home, name, recording)
    output.say(f"\nTables are under {home.tables}; open one with polars:")
    output.say(f'  import polars as pl; pl.read_delta("{home.store.uri("entities")}")')
    output.say("See it all in the browser: geb ui")
    return {
        "tables": rows,
        "association": {
            "precision": found.pairwise.precision,
            "recall": found.pairwise.recall,
            "f1": found.pairwise.f1,
            "b_cubed_f1": found.b_cubed.f1,
        },
        "questions": {"asked": len(asked), "right": sum(one.right for one in asked)},
        "answers": [
            {
                "id": one.question.id,
                "question": one.question.question,
                "answer": one.record.answer,
                "gold": one.question.gold,
                "right": one.right,
                "supports": list(one.record.supports),
            }
            for one in asked
        ],
        "truth": {
            "labelled": found.labelled,
            "identities_in_two_clips": found.identities_in_two_clips,
            "cups_apart": found.cups_apart,
            "returning_in_one": found.returning_in_one,
            "overlay_boxes": found.overlay_boxes,
            "overlay_observations": found.overlay_observations,
        },
        "seconds": time.monotonic() - started,
    }


def _ask(output: Output, home: Home, name: str, recording: DemoRecording) -> list[Asked]:
    """Asks the memory, and shows each answer under the biographies that decided it."""
    from evaluation.demo.asking import ask_all

    memory = Memory.open(home, name)
    asked: list[Asked] = []
    output.say("\nQuestions to this memory, which knows nothing of the truth:")
    for one in ask_all(memory, recording):
        asked.append(one)
        choices = f" ({' / '.join(one.question.choices.values())})" if one.question.choices else ""
        output.say(f"\n{len(asked)}. {one.question.question}{choices}")
        output.say(f"   {answer_line(one.record)}  {'right' if one.right else 'WRONG'}")
        for excerpt in deciding(memory, one.record):
            output.say(f"   decided by {biography_line(memory, excerpt)}")
        output.say(f"   {one.record.why}")
    output.say(f"\n{sum(one.right for one in asked)} of {len(asked)} answered right.")
    return asked
