"""The questions of ``geb ask``, kept in table ``predictions`` so that they can be looked at, and
their searches replayed with another answerer."""

from __future__ import annotations

import hashlib
from itertools import accumulate

import polars as pl

from geb_assets.benchmarks import ASKED, FULL
from geb_assets.home import Home
from geb_assets.reading.record import Record
from geb_assets.tables import TABLES
from resources.store import Stamp, data_version

KEPT = 500
"""The latest so many questions are kept."""

_PARTITION = f"{ASKED}/{FULL}"


def keep(home: Home, record: Record) -> None:
    """Adds one question's record. Raises GebError where the disk refuses, or the recording was
    forgotten meanwhile."""
    with home.writing("predictions", _PARTITION):
        home.registry().recording(record.recording)
        before = _rows(home)
        place = int(before.select(pl.col("place").max()).item() or 0) + 1
        row = pl.DataFrame([_row(record, place)], schema=TABLES["predictions"].schema)
        _write(home, pl.concat([before, row]).tail(KEPT))


def records(home: Home) -> list[Record]:
    """The kept records, oldest first."""
    return [Record.model_validate_json(text) for text in _rows(home)["record"]]


def forget(home: Home, recording: str) -> int:
    """Removes the questions about a recording; returns how many there were."""
    with home.writing("predictions", _PARTITION):
        before = _rows(home)
        kept = before.filter(pl.col("recording") != recording)
        if kept.height < before.height:
            _write(home, kept)
        return before.height - kept.height


def _rows(home: Home) -> pl.DataFrame:
    return home.store.read("predictions", benchmark=ASKED, variant=FULL)


def _write(home: Home, rows: pl.DataFrame) -> None:
    table = TABLES["predictions"]
    version = data_version(table, rows)
    fingerprint = hashlib.sha256(version.encode()).hexdigest()[:32]
    stamp = Stamp("predictions", _PARTITION, fingerprint, version, "geb ask", True, {})
    home.store.replace(table, {"benchmark": ASKED, "variant": FULL}, rows, stamp)


def _row(record: Record, place: int) -> dict[str, object]:
    return {
        "benchmark": ASKED,
        "variant": FULL,
        "question": f"{place:06d}",
        "place": place,
        "run": 0,
        "recording": record.recording,
        "type": "",
        "text": record.question,
        "at_s": record.at,
        "status": "failed" if record.error else "ok",
        "error": record.error,
        "rounds": len(record.searches),
        "searches": [one.query for one in record.searches],
        "units": [unit.id for unit in record.units],
        "units_after": list(accumulate(len(one.units) for one in record.searches)),
        "received_s": 0.0,
        "windows": [],
        "reached": [0] * len(record.searches),
        "answer": record.answer,
        "choice": record.choice or "",
        "gold": "",
        "correct": None,
        "intervals": record.evidence_in and [list(one) for one in record.intervals],
        "decided": record.decided,
        "confidence": record.confidence,
        "why": record.why,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "answer_prompt_tokens": record.answer_tokens[0] or None,
        "answer_completion_tokens": record.answer_tokens[1] or None,
        "seconds": record.seconds,
        "record": record.model_dump_json(),
    }
