"""Captions by a model of half-minutes that nobody narrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from geb_assets.writing.episodes.build import build_episodes
from geb_assets.writing.episodes.captioned import caption_units, untold
from resources.captioner import NotCaptioned
from resources.describer import Line
from tests.reading.synthetic import table


class Captions:
    """Tells how many pictures it saw and what was said; fails where somebody says so."""

    in_flight = 2

    def caption(self, pictures: Sequence[bytes], lines: Sequence[Line], wearer: str) -> str:
        said = " ".join(line.text for line in lines)
        if "fail" in said:
            raise NotCaptioned("no reply")
        return f"{wearer} sees {b''.join(pictures).decode()} and hears {said or 'nothing'}"


def clips() -> pl.DataFrame:
    cells = list(range(5))
    return table(
        "clips", clip=[f"r/c{n}" for n in cells], segment=["r/h"] * 5, cell=cells,
        grid_s=[30] * 5, start_s=[30.0 * n for n in cells], end_s=[30.0 * n + 30 for n in cells],
        status=["ok"] * 5,
    )  # fmt: skip


LINES = table(
    "lines", line=["a", "b", "c"], kind=["caption", "transcript", "transcript"],
    start_s=[31.0, 62.0, 121.0], end_s=[33.0, 99.0, 122.0], visible_from=[33.0, 99.0, 122.0],
    speaker=["", "Bo", "Bo"], text=["I walk.", "Hello.", "fail"],
)  # fmt: skip
RELEASED = pl.DataFrame(
    {"scale": ["30sec"], "start_s": [1.0], "end_s": [29.0], "text": ["Released."]}
)


def frames_of(clip: Mapping[str, Any]) -> pl.DataFrame:
    times = [clip["start_s"] + t for t in range(30)]
    return pl.DataFrame({"time_s": times, "jpeg": [b"%d," % (t % 30) for t in range(30)]})


def test_only_what_nobody_told_is_captioned_and_a_failed_call_is_no_caption() -> None:
    todo = untold(clips(), RELEASED, LINES)
    assert todo["cell"].to_list() == [2, 3, 4]
    told: list[tuple[int, int]] = []
    made, failed = caption_units(
        todo, LINES, frames_of, Captions(), wearer="Ada", most=3,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert failed == 1 and told[-1] == (3, 3)
    assert made["start_s"].to_list() == [60.0, 90.0]
    assert made["text"].to_list() == [
        "Ada sees 0,14,29, and hears Hello.", "Ada sees 0,14,29, and hears nothing",
    ]  # fmt: skip
    # Known when the last line that it was told is over.
    assert made["visible_from"].to_list() == [99.0, 120.0]
    rows = build_episodes(
        "r", lines=LINES, released=RELEASED, clips=clips(),
        descriptions=table("descriptions"), words={"3min": 99, "10min": 99, "1h": 99},
        captioned=made, source="summarized",
        shorten=lambda windows, words: [" / ".join(texts)[:words] for texts in windows],
    )  # fmt: skip
    short = rows.filter(pl.col("scale") == "30sec")
    assert short["source"].to_list() == ["released", "lines", "captioned", "captioned", "lines"]
    assert set(rows.filter(pl.col("scale") != "30sec")["source"]) == {"summarized"}


def test_a_unit_without_pictures_is_left_to_what_else_tells_it() -> None:
    todo = untold(clips(), RELEASED, LINES)

    def dark(clip: Mapping[str, Any]) -> pl.DataFrame:
        return frames_of(clip).filter(pl.lit(clip["cell"] != 2))

    made, failed = caption_units(
        todo, LINES, dark, Captions(), wearer="", most=3, progress=lambda done, total: None
    )
    assert failed == 1 and made["start_s"].to_list() == [90.0]


def test_a_summary_that_failed_leaves_no_row() -> None:
    rows = build_episodes(
        "r", lines=LINES, released=RELEASED, clips=clips().clear(),
        descriptions=table("descriptions"), words={"3min": 9, "10min": 9, "1h": 9},
        shorten=lambda windows, words: [None for _ in windows],
    )  # fmt: skip
    assert set(rows["scale"]) == {"30sec"}
