"""The ``geb`` command: one function a subcommand, each a thin call into the package."""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.table import Table as RichTable

from geb_assets.cli.group import Group
from geb_assets.cli.output import Output, one_line
from geb_assets.errors import GebError
from geb_assets.home import Home
from resources.chat.calls import Budget

_PATHS = click.Path(path_type=Path)


def _command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a subcommand ``--json`` and its plain failure."""

    @wraps(function)
    def run(*args: Any, as_json: bool, **options: Any) -> None:
        output = Output(as_json)
        try:
            function(output, *args, **options)
        except GebError as error:
            output.fail(str(error))
            sys.exit(1)
        except OSError as error:
            output.fail(f"{error.filename or 'a file'}: {error.strerror}; mend that and run again")
            sys.exit(1)

    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(run)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="grounded-entity-biographies", prog_name="geb")
def main() -> None:
    """A long-video memory that follows each physical thing and person through days of video.

    Everything lives in the folder that GEB_HOME names (default ./geb_home).
    """


@main.command()
@click.option("--seed", type=click.IntRange(min=0), default=7, show_default=True)
@_command
def demo(output: Output, seed: int) -> None:
    """Render a video of two days, build its memory, and score it against the truth."""
    from geb_assets.cli.demo import demonstrate

    output.result(demonstrate(output, seed))


@main.command()
@click.argument("recording")
@click.argument("videos", nargs=-1, type=_PATHS)
@click.option("--start", "starts", multiple=True, help="Clock time of a video's first frame.")
@click.option("--captions", multiple=True, type=_PATHS, help="Narration: a file or a folder.")
@click.option("--transcripts", multiple=True, type=_PATHS, help="Dialogue: a file or a folder.")
@click.option("--chains", multiple=True, type=_PATHS, help="Released topic or event chains.")
@click.option("--cast", multiple=True, help="A person's name; repeat for more.")
@click.option("--wearer", default="", help="Who wears the camera.")
@click.option("--clip-seconds", type=int, default=None, help="Length of a clip, s (30).")
@click.option("--clock", type=click.Choice(["egolife", "seconds"]), default=None)
@_command
def add(output: Output, recording: str, videos: Sequence[Path], **options: Any) -> None:
    """Add VIDEOS (or captions alone) to a RECORDING, which begins to exist with its first file."""
    from geb_assets.adding import add_videos
    from geb_assets.reloading import reload_location

    with output.progress() as progress:
        home = replace(Home.of_environment(), progress=progress)
        added = add_videos(home, recording, videos, **options)
    reload_location(home)
    entry = home.registry().recording(recording)
    for note in added.notes:
        output.say(f"note: {note}")
    output.say(
        f"{recording}: {added.videos} videos and {added.lines} lines added; "
        f"{len(home.registry().segments(recording))} segments. Next: geb build {recording}"
    )
    output.result(
        {
            "recording": recording,
            "videos": [
                {"path": v.path, "start": entry.show(v.start_s), "seconds": v.duration_s}
                for v in entry.videos
            ],
            "lines": added.lines,
            "segments": home.registry().segments(recording),
            "notes": list(added.notes),
        }
    )


@main.command()
@click.argument("recording", required=False)
@click.option("--why", is_flag=True, help="Say why each partition is stale.")
@_command
def plan(output: Output, recording: str | None, why: bool) -> None:
    """List what is stale, what may change with it, and the calls of chat models that takes."""
    from geb_assets.cli.calls import tell_calls, tell_unused_chat
    from geb_assets.estimate import estimate
    from geb_assets.stages import STAGES

    home = Home.of_environment()
    if recording is not None:
        home.registry().recording(recording)
    planner = home.planner(STAGES)
    steps = planner.plan([recording] if recording else None)
    asked = estimate(home, planner, steps)
    output.result(
        {"stale": [asdict(step) for step in steps], "calls": [asdict(one) for one in asked]}
    )
    if not steps:
        output.say("nothing is stale")
    elif why:
        table = RichTable("asset", "partition", "state", "why", box=None)
        for step in steps:
            table.add_row(step.asset, step.partition, step.state, step.why)
        output.plain.print(table)
    else:
        table = RichTable("asset", "stale", "may change", box=None)
        counts = Counter((step.asset, step.state) for step in steps)
        for asset in dict.fromkeys(step.asset for step in steps):
            table.add_row(asset, str(counts[asset, "stale"]), str(counts[asset, "may change"]))
        output.plain.print(table)
        output.say("why: geb plan --why    build it: geb build")
    tell_calls(output, asked)
    if any(step.asset == "predictions" for step in steps):
        tell_unused_chat(output, planner.profile)


@main.command()
@click.argument("recordings", nargs=-1)
@click.option("--to", default=None, metavar="ASSET", help="Stop at this asset.")
@click.option("--most-calls", type=click.IntRange(min=0), help="Most calls of chat models.")
@click.option("--most-tokens", type=click.IntRange(min=0), help="Most tokens of chat models.")
@_command
def build(
    output: Output,
    recordings: Sequence[str],
    to: str | None,
    most_calls: int | None,
    most_tokens: int | None,
) -> None:
    """Materialize what is stale, of RECORDINGS or of all.

    A spent budget of calls or tokens stops it; what was paid for is kept for the next build.
    """
    from geb_assets.building import Ran
    from geb_assets.building import build as build_stale

    budget = Budget(tokens=most_tokens, calls=most_calls)
    with output.progress() as progress:
        home = replace(Home.of_environment(), progress=progress, budget=budget)

        def tell(ran: Ran) -> None:
            state = "changed" if ran.changed else "as before"
            output.say(f"{ran.asset:<14} {ran.partition:<24} {ran.seconds:7.1f} s  {state}")

        built = build_stale(home, recordings=list(recordings) or None, to=to, tell=tell)
    if built.faults:
        for fault in built.faults[1:]:
            output.errors.print(f"geb: {one_line(fault)}", markup=False)
        output.fail(built.faults[0])
        sys.exit(1)
    if not built.ran:
        output.say("nothing is stale")
    output.result({"ran": [asdict(ran) for ran in built.ran]})


@main.command(name="set")
@click.argument("recording")
@click.argument("assignments", nargs=-1, required=True, metavar="SECTION.NAME=VALUE...")
@_command
def set_(output: Output, recording: str, assignments: Sequence[str]) -> None:
    """Override parameters of a RECORDING; they are applied together, then validated."""
    from geb_assets.adding import set_parameters
    from geb_assets.reloading import reload_location
    from geb_assets.stages import STAGES

    home = Home.of_environment()
    set_parameters(home, recording, _assigned(assignments, "SECTION.NAME=VALUE"))
    reload_location(home)
    steps = home.planner(STAGES).plan([recording])
    output.result({"stale": [asdict(step) for step in steps]})
    stale = [step for step in steps if step.state == "stale"]
    output.say(f"{len(stale)} partitions of {recording} are stale; see: geb plan --why {recording}")


@main.command()
@click.argument("profile")
@click.argument("assignments", nargs=-1, metavar="[ROLE.OPTION=VALUE...]")
@_command
def use(output: Output, profile: str, assignments: Sequence[str]) -> None:
    """Let the models of a PROFILE serve this home, and set options of its roles."""
    from geb_assets.adding import use_profile
    from geb_assets.reloading import reload_location
    from geb_assets.stages import STAGES

    home = Home.of_environment()
    use_profile(home, profile, _assigned(assignments, "ROLE.OPTION=VALUE"))
    reload_location(home)
    steps = home.planner(STAGES).plan()
    output.result({"profile": profile, "stale": [asdict(step) for step in steps]})
    stale = sum(step.state == "stale" for step in steps)
    output.say(f"profile {profile}; {stale} partitions are stale, see: geb plan --why")
    output.say("its models and options: geb models    try them: geb doctor")


def _assigned(assignments: Sequence[str], form: str) -> dict[str, Any]:
    """Name to value of assignments on the command line."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise GebError(f"'{assignment}' sets nothing; write {form}")
        values[name] = _value(text)
    return values


def _value(text: str) -> Any:
    """A value as TOML reads it, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@main.command()
@click.argument("recording")
@click.argument("query")
@click.option("--at", default=None, help="The clock time at which it is asked.")
@_command
def search(output: Output, recording: str, query: str, at: str | None) -> None:
    """Search the memory of a RECORDING, as it was at a time."""
    from geb_assets.cli.search import search as search_memory

    output.result(search_memory(output, recording, query, at))


@main.command()
@click.argument("recording")
@click.argument("question")
@click.option("--at", default=None, help="The clock time at which it is asked.")
@click.option("--choice", "choices", multiple=True, help="One choice; repeat for each.")
@click.option(
    "--model",
    type=click.Choice(["chat", "embedded"]),
    default=None,
    help="Who reads: a chat model or rules (a chat model where one is configured).",
)
@click.option("--html", "page", type=_PATHS, default=None, help="Also write a page with pictures.")
@_command
def ask(
    output: Output,
    recording: str,
    question: str,
    at: str | None,
    choices: Sequence[str],
    **options: Any,
) -> None:
    """Answer a QUESTION from the memory of a RECORDING, and show what decided it."""
    from geb_assets.cli.ask import ask as ask_question

    output.result(ask_question(output, recording, question, at=at, choices=choices, **options))


@main.command()
@click.argument("benchmark")
@click.option("--questions", type=_PATHS, default=None, help="The benchmark's released file.")
@click.option("--kind", default=None, help="Whose rules hold, where the name does not say it.")
@click.option("--recording", "recordings", multiple=True, help="Recording asked; repeat for more.")
@click.option("--variant", "variants", multiple=True, help="What to leave out; repeat for more.")
@click.option("--runs", type=click.IntRange(min=1), default=None, help="Runs of each question.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=None, help="The first N questions; 0: all."
)
@click.option("--parallel", type=click.IntRange(1, 64), default=None, help="Questions at a time.")
@_command
def evaluate(output: Output, benchmark: str, **options: Any) -> None:
    """Put a BENCHMARK's questions to the memories they are about, and score the answers.

    `geb evaluate demo` makes its own recordings and questions.
    """
    from geb_assets.cli.evaluate import evaluate as run_benchmark

    output.result(run_benchmark(output, benchmark, **options))


@main.command()
@click.argument("benchmark", required=False)
@click.option("--html", "to", type=_PATHS, default=None, help="Where to; else under reports/.")
@_command
def report(output: Output, benchmark: str | None, to: Path | None) -> None:
    """Write the page of a BENCHMARK: figures, plots, and what decided each question."""
    from geb_assets.cli.report import report as write_report

    output.result(write_report(output, benchmark, to))


@main.command()
@_command
def tables(output: Output) -> None:
    """List the tables, their rows, and how to open one."""
    from geb_assets.tables import TABLES

    home = Home.of_environment()
    counts = {name: int(home.store.scan(name).select(pl.len()).collect().item()) for name in TABLES}
    shown = RichTable("table", "a row is", "rows", box=None)
    for name, table in TABLES.items():
        shown.add_row(name, table.row, str(counts[name]))
    output.plain.print(shown)
    output.say(f'open one: polars.read_delta("{home.store.uri("entities")}")')
    output.result({"tables": {n: {"rows": counts[n], "uri": home.store.uri(n)} for n in TABLES}})


@main.command()
@_command
def models(output: Output) -> None:
    """List the roles of the profile, their models, and what would be downloaded."""
    from geb_assets.cli.models import list_models

    output.result(list_models(output, Home.of_environment()))


@main.command()
@_command
def doctor(output: Output) -> None:
    """Try the home, the models and each role once on a tiny input; mend the ledger."""
    from geb_assets.doctor import examine

    home = Home.of_environment()
    findings = examine(home)
    for finding in findings:
        output.say(f"{'ok  ' if finding.passed else 'BAD '} {finding.check}: {finding.message}")
    output.result({"findings": [asdict(finding) for finding in findings]})
    if not all(finding.passed for finding in findings):
        sys.exit(1)


@main.command()
@click.argument("recording")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_command
def forget(output: Output, recording: str, yes: bool) -> None:
    """Delete a RECORDING from the registry and from every table; its files stay."""
    from geb_assets.forgetting import forget as forget_recording
    from geb_assets.home import REPLIES
    from geb_assets.reloading import reload_location

    home = Home.of_environment()
    if not any(key.split("/")[0] == recording for _, key in home.ledger.entries()):
        home.registry().recording(recording)
    if not yes and not output.as_json:
        click.confirm(f"Delete all rows of '{recording}'?", abort=True)
    removed = forget_recording(home, recording)
    reload_location(home)
    for name, rows in removed.items():
        output.say(f"{name}: {rows} rows deleted")
    replies = home.cache / REPLIES
    if replies.exists():
        output.say(f"what chat models replied stays in {replies}; delete it to be rid of it")
    output.result({"recording": recording, "deleted": removed})


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True)
@_command
def ui(output: Output, port: int) -> None:
    """Start Dagster's UI, schedules and sensors on this home."""
    from geb_assets.cli.ui import serve

    serve(Home.of_environment(), port, output)


@main.command()
@click.option(
    "--gpus",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="GPUs that a model is spread over.",
)
@click.option(
    "--memory-share",
    type=click.FloatRange(0.05, 1.0),
    default=0.9,
    show_default=True,
    help="Share of the GPUs' memory, for all models together.",
)
@click.option(
    "--wait",
    "patience_s",
    type=click.FloatRange(min=1.0),
    default=1800.0,
    show_default=True,
    help="Longest wait for a model to be loaded, s.",
)
@click.option("--show", is_flag=True, help="Print the commands and start nothing.")
@_command
def serve(output: Output, gpus: int, memory_share: float, patience_s: float, show: bool) -> None:
    """Serve the profile's local chat models with vLLM until this is interrupted."""
    from geb_assets.cli.serve import serve as serve_models

    output.result(
        serve_models(
            Home.of_environment(),
            output,
            gpus=gpus,
            memory_share=memory_share,
            patience_s=patience_s,
            show=show,
        )
    )
