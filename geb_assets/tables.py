"""Every table's schema: the analysts' contract, and what docs/tables.md is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

Partition = Literal["segment", "recording", "benchmark"]

_KEYS: dict[Partition, tuple[str, ...]] = {
    "segment": ("recording", "segment"),
    "recording": ("recording",),
    "benchmark": ("benchmark", "variant"),
}

TEXT, REAL, INT, FLAG, BYTES = (
    pl.String(),
    pl.Float64(),
    pl.Int32(),
    pl.Boolean(),
    pl.Binary(),
)
PIXEL = pl.Float32()


@dataclass(frozen=True)
class Column:
    """One column. ``explains`` marks what tells why and is left out of the data version."""

    name: str
    dtype: pl.DataType
    doc: str
    unit: str = ""
    nullable: bool = False
    explains: bool = False


@dataclass(frozen=True)
class Table:
    """One Delta table: who writes it, how it is partitioned, what a row is, and its order."""

    name: str
    asset: str
    partition: Partition
    row: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    aside: tuple[tuple[str, str], ...] = ()
    """Rows, by a column and its value, that are left out of the data version as well: measured
    times, which differ from run to run."""

    @property
    def partition_columns(self) -> list[str]:
        return list(_KEYS[self.partition])

    @property
    def schema(self) -> dict[str, pl.DataType]:
        return {column.name: column.dtype for column in self.columns}

    @property
    def own_schema(self) -> dict[str, pl.DataType]:
        """The schema without the partition's keys: what pure functions make rows of."""
        keys = self.partition_columns
        return {name: dtype for name, dtype in self.schema.items() if name not in keys}

    @property
    def versioned(self) -> list[str]:
        """The columns whose content is the table's data version."""
        return [column.name for column in self.columns if not column.explains]

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)


RECORDING = Column("recording", TEXT, "The recording's name.")
SEGMENT = Column("segment", TEXT, "The segment: up to an hour of the recording, `ego/d001-13h`.")
BENCHMARK = Column("benchmark", TEXT, "The benchmark's name; `asked`: asked by hand.")
VARIANT = Column("variant", TEXT, "The full system, or what is left out of it.")
CLIP = Column("clip", TEXT, "The clip's id.")
START = Column("start_s", REAL, "Start on the recording clock.", "s")
END = Column("end_s", REAL, "End on the recording clock.", "s")
TIME = Column("time_s", REAL, "Time on the recording clock.", "s")
VISIBLE = Column("visible_from", REAL, "Earliest question time that may see this row.", "s")
FRAME = Column("frame", INT, "Sampled frame's place in its clip, from 0.")
OBSERVATION = Column("observation", TEXT, "The observation's id.")
BOX = tuple(
    Column(name, PIXEL, f"Box {side} edge in the source frame.", "px")
    for name, side in (("x1", "left"), ("y1", "top"), ("x2", "right"), ("y2", "bottom"))
)
CONFIDENCE = Column("confidence", PIXEL, "The detector's confidence, 0 to 1.")
LABEL = Column("label", TEXT, "The detector's label.")
VECTOR = (
    Column("vector", BYTES, "Little-endian float16 values; empty where there is no vector."),
    Column("dim", INT, "Number of values."),
    Column("dtype", TEXT, "Type of the stored values: `float16`."),
    Column("model", TEXT, "The model that made it."),
)
KEYS = (RECORDING, SEGMENT)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            "clips", "clips", "segment", "one clip",
            (
                *KEYS, CLIP, START, END,
                Column("cell", pl.Int64(), "Place on the clock grid: floor(start / clip length)."),
                Column("grid_s", INT, "Clip length of the grid.", "s"),
                Column("video", TEXT, "Name of the video file.", explains=True),
                Column("video_start_s", REAL, "Where the clip starts in its file.", "s"),
                Column("frames", INT, "Frames sampled."),
                Column("digest", TEXT, "Of the sampled pixels: what later stages look at."),
                Column("fps", REAL, "Frames sampled per second of the clip.", "1/s"),
                Column("width", INT, "Frame width after rotation.", "px"),
                Column("height", INT, "Frame height after rotation.", "px"),
                Column("motion_px", REAL,
                       "Median global motion between sampled frames.", "px"),
                Column("status", TEXT, "`ok`, or `failed` where the clip could not be decoded."),
                Column("error", TEXT, "Why it failed, else empty."),
            ),
            ("start_s",),
        ),
        Table(
            "frames", "clips", "segment", "one stored frame, one a second",
            (
                *KEYS, CLIP, FRAME, TIME,
                Column("width", INT, "Stored width.", "px"),
                Column("height", INT, "Stored height.", "px"),
                Column("jpeg", BYTES, "JPEG bytes, no boxes drawn."),
            ),
            ("time_s",),
        ),
        Table(
            "detections", "detections", "segment", "one box in one frame",
            (*KEYS, CLIP, FRAME, TIME, *BOX, CONFIDENCE, LABEL),
            ("time_s", "confidence", "x1", "y1", "x2", "y2", "label"),
        ),
        Table(
            "tracks", "tracks", "segment", "one box of one track in one frame",
            (
                *KEYS, CLIP,
                Column("track", TEXT, "The track's id: one subject inside one clip."),
                FRAME, TIME, *BOX, CONFIDENCE, LABEL,
            ),
            ("clip", "track", "frame"),
        ),
        Table(
            "observations", "observations", "segment", "one encounter: a track group in one clip",
            (
                *KEYS, CLIP, OBSERVATION, START, END,
                Column("visible_from", REAL,
                       "Earliest question time that may see the encounter: its end.", "s"),
                Column("visible_s", REAL, "Time it is visible: visible frames / fps.", "s"),
                LABEL, CONFIDENCE,
                Column("tracks", pl.List(TEXT), "The tracks of the group."),
                Column("frames", pl.List(INT), "Visible frames, ascending."),
                Column("boxes", pl.List(pl.List(PIXEL)),
                       "x1 y1 x2 y2 of each visible frame.", "px"),
                Column("scene_frames", pl.List(INT), "Stored frames shown to the describer."),
                Column("context_start_s", REAL, "Start of its context window.", "s"),
                Column("context_end_s", REAL, "End of its context window.", "s"),
            ),
            ("start_s", "end_s", "observation"),
        ),
        Table(
            "crops", "observations", "segment", "one stored crop of an observation",
            (
                *KEYS, CLIP, OBSERVATION,
                Column("rank", INT, "0 to 3, in time order."),
                FRAME, TIME, *BOX,
                Column("jpeg", BYTES, "JPEG bytes of what lies in x1 y1 x2 y2: the padded box."),
            ),
            ("observation", "rank"),
        ),
        Table(
            "discards", "observations", "segment",
            "one track group that became no observation",
            (
                *KEYS, CLIP,
                Column("tracks", pl.List(TEXT), "The tracks of the group."),
                Column("reason", TEXT, "`brief`, `whole frame` or `overlay`."),
                LABEL,
                Column("frames", INT, "Visible frames."),
                *BOX,
            ),
            ("clip", "reason", "x1", "y1", "x2", "y2", "label"),
        ),
        Table(
            "descriptions", "descriptions", "segment", "one description of one observation",
            (
                *KEYS, CLIP, OBSERVATION, START, END, VISIBLE,
                Column("status", TEXT, "`ok` or `failed`."),
                Column("object_name", TEXT, "What it is, in 1 to 5 words."),
                Column("is_person", FLAG, "Whether the box holds a person."),
                Column("appearance", TEXT, "Colour, material, what it is."),
                Column("location", TEXT, "Where it belongs, or `unclear`."),
                Column("action", TEXT, "What is done to it, or `none`."),
                Column("action_evidence", TEXT, "The image or line that shows it, or `none`."),
                Column("event_desc", TEXT, "Every step taken with it, or `no activity`."),
                Column("summary", TEXT, "The retrieval text."),
                Column("unique_mark", TEXT, "What tells it from its like, or `none`."),
                Column("reid_summary", TEXT, "What holds in every sighting."),
                Column("source_evidence", TEXT, "Times of the lines used, or `none`."),
                Column("confidence", TEXT, "`low`, `medium` or `high`."),
                Column("model", TEXT, "The model that wrote it."),
                Column("error", TEXT, "Why it failed, else empty."),
            ),
            ("start_s", "end_s", "observation"),
        ),
        Table(
            "embeddings", "embeddings", "segment", "one vector of an observation or clip",
            (
                *KEYS,
                Column("subject", TEXT, "Observation or clip id."),
                Column("kind", TEXT, "`identity` or `text`; `visual` (a clip's) where served."),
                START, VISIBLE, *VECTOR,
            ),
            ("kind", "start_s", "subject"),
        ),
        Table(
            "separations", "entities", "recording", "one pair of observations proven different",
            (
                RECORDING, CLIP,
                Column("earlier", TEXT, "The first observation."),
                Column("later", TEXT, "The second observation."),
                VISIBLE,
                Column("shared_frames", INT, "Frames that hold both."),
                Column("apart", REAL, "Share of them in which the boxes lie apart."),
            ),
            ("clip", "earlier", "later"),
        ),
        Table(
            "memberships", "entities", "recording", "the entity of one observation",
            (
                RECORDING, OBSERVATION,
                Column("entity", TEXT, "The entity it was assigned to."),
                START,
                Column("started", FLAG, "Whether it started the entity.", explains=True),
                Column("min_similarity", PIXEL, "Lowest similarity to its references.",
                       nullable=True, explains=True),
                Column("mean_similarity", PIXEL, "Mean similarity to its references.",
                       nullable=True, explains=True),
                Column("max_similarity", PIXEL, "Highest similarity to its references.",
                       nullable=True, explains=True),
                Column("anchored", FLAG, "Whether a boundary anchor spoke for it.", explains=True),
                Column("runner_up", TEXT, "The next best candidate entity, else empty.",
                       explains=True),
                Column("runner_up_mean", PIXEL, "Its mean similarity.", nullable=True,
                       explains=True),
                Column("runner_up_lost", TEXT, "Why it lost, else empty.", explains=True),
            ),
            ("observation",),
        ),
        Table(
            "entities", "entities", "recording", "one biography",
            (
                RECORDING,
                Column("entity", TEXT, "The entity's id, numbered by first appearance."),
                Column("display_name", TEXT, "Its most frequent object name."),
                Column("is_person", FLAG, "Whether most of its descriptions say a person."),
                Column("observations", INT, "Number of encounters."),
                START, END,
                Column("days", pl.List(INT), "Days on which it was seen, from 1."),
                Column("other_names", pl.List(TEXT), "Its other object names."),
            ),
            ("entity",),
        ),
        Table(
            "names", "names", "recording", "one entity named on one day",
            (
                RECORDING,
                Column("entity", TEXT, "The entity."),
                Column("day", INT, "The day, from 1. A name carries to the entity's other days "
                       "unless two days differ."),
                Column("cast_name", TEXT, "Who of the cast it is."),
                Column("named_at", REAL, "From when it can be known.", "s"),
                VISIBLE,
                Column("evidence", TEXT, "The features that tell this person from the others."),
            ),
            ("entity", "day"),
        ),
        Table(
            "assignments", "names", "recording", "one encounter assigned to one of the cast",
            (
                RECORDING, CLIP, OBSERVATION,
                Column("cast_name", TEXT, "Who of the cast is seen."),
                VISIBLE,
            ),
            ("observation",),
        ),
        Table(
            "clothing", "names", "recording", "one person's clothing on one day",
            (
                RECORDING,
                Column("cast_name", TEXT, "Who wears it."),
                Column("day", INT, "The day, from 1."),
                Column("features", pl.List(TEXT), "Stable features, others of the cast may share."),
                VISIBLE,
            ),
            ("day", "cast_name"),
        ),
        Table(
            "consolidations", "names", "recording", "one entity that is one of the cast",
            (
                RECORDING,
                Column("cast_name", TEXT, "Who of the cast it is, as of the recording's end."),
                Column("entity", TEXT, "The entity; `memberships` stay as they are."),
                Column("person", TEXT, "The largest entity of that person."),
                VISIBLE,
            ),
            ("cast_name", "entity"),
        ),
        Table(
            "chains", "chains", "recording", "one fact of a topic or event chain",
            (
                RECORDING,
                Column("kind", TEXT, "`topic` or `event`."),
                Column("label", TEXT, "What is followed."),
                Column("text", TEXT, "What happened then."),
                START, END, VISIBLE,
                Column("source", TEXT, "`model`, or the name of the file it was imported from."),
            ),
            ("start_s", "end_s", "kind", "label", "text"),
        ),
        Table(
            "triples", "triples", "recording", "one statement of a caption",
            (
                RECORDING,
                Column("triple", TEXT, "The triple's id."),
                Column("episode", TEXT, "The 30-second caption that states it."),
                Column("subject", TEXT, "Who or what, as the caption names it."),
                Column("predicate", TEXT, "The verb, with its preposition."),
                Column("object", TEXT, "Whom, what or where."),
                START, END, VISIBLE,
            ),
            ("start_s", "triple"),
        ),
        Table(
            "lines", "lines", "recording", "one line of narration or dialogue",
            (
                RECORDING,
                Column("line", TEXT, "The line's id."),
                START, END, VISIBLE,
                Column("kind", TEXT, "`caption` or `transcript`."),
                Column("speaker", TEXT, "Who speaks, else empty."),
                Column("text", TEXT, "What is said or narrated."),
                Column("source", TEXT, "Name of the file it came from."),
            ),
            ("start_s", "end_s", "line"),
        ),
        Table(
            "episodes", "episodes", "recording", "one caption",
            (
                RECORDING,
                Column("episode", TEXT, "The episode's id."),
                Column("scale", TEXT, "`30sec`, `3min`, `10min` or `1h`."),
                START, END, VISIBLE,
                Column("text", TEXT, "The caption."),
                Column("source", TEXT,
                       "What it is made of: `released`, `lines`, `observations`, `composed`; by a "
                       "model: `captioned`, `summarized`."),
            ),
            ("start_s", "end_s", "episode"),
        ),
        Table(
            "episode_embeddings", "episodes", "recording", "one vector of an episode",
            (
                RECORDING,
                Column("episode", TEXT, "The episode's id."),
                Column("kind", TEXT, "`text`."),
                START, VISIBLE, *VECTOR,
            ),
            ("start_s", "episode"),
        ),
        Table(
            "graph_nodes", "graph", "recording", "one node",
            (
                RECORDING,
                Column("node", pl.Int64(), "The node's number in this recording, from 0."),
                Column("id", TEXT, "Id of the entity, observation, episode or clip."),
                Column("type", TEXT, "`entity`, `observation`, `episode` or `clip`."),
                START, END, VISIBLE,
            ),
            ("node",),
        ),
        Table(
            "graph_edges", "graph", "recording", "one undirected edge",
            (
                RECORDING,
                Column("a", pl.Int64(), "Smaller node number."),
                Column("b", pl.Int64(), "Larger node number."),
                Column("type", TEXT,
                       "`membership`, `episode_context`, `visual_provenance`, `temporal`, "
                       "`containment` or `clip_episode`."),
                Column("weight", REAL, "Edge weight."),
                VISIBLE,
            ),
            ("a", "b"),
        ),
        Table(
            "predictions", "predictions", "benchmark", "one run of one question",
            (
                BENCHMARK, VARIANT,
                Column("question", TEXT, "The question's id in its file."),
                Column("place", INT, "The question's place in its file, from 0."),
                Column("run", INT, "The run, from 0; its seed."),
                RECORDING,
                Column("type", TEXT, "The question's type, else empty."),
                Column("text", TEXT, "The question."),
                Column("at_s", REAL, "When it is asked; null: of the whole recording.", "s",
                       nullable=True),
                Column("status", TEXT,
                       "`ok`, `failed` where a model call failed, or `outside` where the question "
                       "cannot be of this recording and was not put to it."),
                Column("error", TEXT, "Why it is not `ok`, else empty."),
                Column("rounds", INT, "Searches made."),
                Column("searches", pl.List(TEXT), "Their queries."),
                Column("units", pl.List(TEXT), "Units received, in the order received."),
                Column("units_after", pl.List(INT), "Units received after each search."),
                Column("received_s", REAL,
                       "Time covered by what counts as evidence among them.", "s"),
                Column("windows", pl.List(pl.List(REAL)), "Start and end of each evidence window.",
                       "s"),
                Column("reached", pl.List(INT), "Windows reached after each search."),
                Column("answer", TEXT, "The answer, else empty."),
                Column("choice", TEXT, "The letter chosen, else empty."),
                Column("gold", TEXT, "The gold letter, or the reference answer."),
                Column("correct", FLAG, "Whether the choice is right; null without choices.",
                       nullable=True),
                Column("intervals", pl.List(pl.List(REAL)),
                       "First and last second, both inside, of the times that the answer names as "
                       "its evidence; null where none are asked for.", "s", nullable=True),
                Column("decided", FLAG, "Whether the evidence decided the question."),
                Column("confidence", REAL, "0 to 1; null where the answerer gives none.",
                       nullable=True),
                Column("why", TEXT, "What the answer rests on."),
                Column("prompt_tokens", INT, "Tokens read by chat models.", explains=True),
                Column("completion_tokens", INT, "Tokens written by them.", explains=True),
                Column("answer_prompt_tokens", INT,
                       "Of these, read by the answerer; null where nobody counted.",
                       nullable=True, explains=True),
                Column("answer_completion_tokens", INT, "Of these, written by the answerer.",
                       nullable=True, explains=True),
                Column("seconds", REAL, "Time that the question took.", "s", explains=True),
                Column("record", TEXT,
                       "The whole run as JSON: rounds, units with their texts, what decided.",
                       explains=True),
            ),
            ("place", "run"),
        ),
        Table(
            "scores", "scores", "benchmark", "one figure",
            (
                BENCHMARK, VARIANT,
                Column("metric", TEXT, "What was measured; fractions are 0 to 1."),
                Column("slice", TEXT, "Over which questions: `all`, a type, or as it says."),
                Column("value", REAL, "The figure; null where it could not be measured.",
                       nullable=True),
                Column("low", REAL, "Lower end of its 95 % interval.", nullable=True),
                Column("high", REAL, "Upper end of its 95 % interval.", nullable=True),
                Column("n", INT, "Questions it is over."),
                Column("anchor", REAL, "The published figure beside it.", nullable=True),
                Column("note", TEXT, "What has to be known beside it, else empty."),
            ),
            ("metric", "slice"),
            aside=(("metric", "seconds a question"),),
        ),
    )
}  # fmt: skip


def keys_of(partition: Partition, key: str) -> dict[str, str]:
    """The partition columns' values of a partition's key."""
    first = key.rsplit("/", 1)[0]
    match partition:
        case "segment":
            return {"recording": first, "segment": key}
        case "recording":
            return {"recording": key}
        case "benchmark":
            return {"benchmark": first, "variant": key.rsplit("/", 1)[1]}


def tables_of(asset: str) -> list[Table]:
    """The tables an asset writes."""
    return [table for table in TABLES.values() if table.asset == asset]


def markdown() -> str:
    """The page docs/tables.md."""
    lines = [
        "# Tables",
        "",
        "Made by `make docs` from `geb_assets/tables.py`. Times are seconds on the recording",
        "clock, boxes are pixels of the source frame, ids are strings that sort in time order.",
        'Open one with `polars.read_delta("geb_home/tables/NAME")`.',
    ]
    for table in TABLES.values():
        lines += [
            "",
            f"## {table.name}",
            "",
            f"A row is {table.row}. Written by asset `{table.asset}`, partitioned by "
            f"{' and '.join(table.partition_columns)}, in the order of {', '.join(table.order)}.",
            "",
            "| column | type | unit | what it is |",
            "|---|---|---|---|",
        ]
        for column in table.columns:
            notes = [column.doc]
            if column.nullable:
                notes.append("Can be null.")
            if column.explains:
                notes.append("Not part of the data version.")
            cells = (column.name, _type_name(column.dtype), column.unit, " ".join(notes))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _type_name(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.List):
        return f"list of {_type_name(dtype.inner)}"  # type: ignore[arg-type]
    return str(dtype).lower()


if __name__ == "__main__":
    print(markdown(), end="")
