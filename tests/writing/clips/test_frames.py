from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from geb_assets.adding import set_parameters
from geb_assets.home import Home
from geb_assets.registry import edit
from resources.frames import FrameCache, decode_jpeg, encode_jpeg, fit
from tests.homes import default, up_to_date, versions


def jpeg(value: int) -> bytes:
    return encode_jpeg(np.full((40, 60, 3), value, np.uint8), 95)


def test_frames_come_back_with_their_numbers_and_exact_times(tmp_path: Path) -> None:
    cache = FrameCache(tmp_path, 1e9)
    times = {3: 1 / 3, 7: 48_038.123456789}
    cache.put(
        "r/d001-00h~ab", "r/d001-00:00:00.00", [(n, t, jpeg(n * 20)) for n, t in times.items()]
    )
    assert cache.has("r/d001-00h~ab", "r/d001-00:00:00.00")
    assert cache.open("r/d001-00h~ab", "r/d001-00:00:00.00").times == times
    (late, early) = cache.open("r/d001-00h~ab", "r/d001-00:00:00.00").read([7, 3])
    assert (late.mean(), early.mean()) == pytest.approx((140, 60), abs=2)
    (gray,) = cache.open("r/d001-00h~ab", "r/d001-00:00:00.00").read([7], "gray half")
    assert gray.shape == (20, 30)


def test_a_clip_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    cache = FrameCache(tmp_path, 1e9)

    def broken() -> object:
        yield 0, 0.0, jpeg(1)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        cache.put("k", "r/c", broken())  # type: ignore[arg-type]
    assert not cache.has("k", "r/c")
    assert not list(tmp_path.rglob("*.*"))


def test_the_oldest_segments_go_first_and_the_one_in_use_stays(tmp_path: Path) -> None:
    size = 3 * len(jpeg(9))
    cache = FrameCache(tmp_path, 2.5 * size)
    for age, key in enumerate(["a", "b", "c"]):
        cache.put(key, "r/x", [(0, 0.0, jpeg(9)), (1, 0.1, jpeg(9)), (2, 0.2, jpeg(9))])
        os.utime(tmp_path / key / "x.zip", (1000 + age, 1000 + age))
    abandoned = tmp_path / "b" / "y.123.partial"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (1000, 1000))
    cache.trim("a")
    assert cache.has("a", "r/x")
    assert [cache.has(key, "r/x") for key in ("b", "c")] == [False, True]
    assert not abandoned.exists()


def test_what_the_cache_dropped_is_decoded_again_to_the_same_rows(home: Home) -> None:
    whole = versions(home)
    set_parameters(home, "r", {"tracks.buffer_s": 1.7, "observations.crop_side": 200})
    up_to_date(home, "r")
    shutil.rmtree(home.cache / "frames")
    edit(home.path, lambda known: known.model_copy(update={"frame_cache_gb": 0.0}))
    names = ("tracks.buffer_s", "observations.crop_side")
    set_parameters(home, "r", {name: default(name) for name in names})
    up_to_date(home, "r")
    assert versions(home) == whole
    assert len(list((home.cache / "frames").glob("*/*.zip"))) > 0


def test_pictures_shrink_and_never_grow() -> None:
    picture = np.zeros((300, 400, 3), np.uint8)
    assert fit(picture, 200).shape == (150, 200, 3)
    assert fit(picture, 500) is picture
    assert decode_jpeg(encode_jpeg(picture, 90)).shape == picture.shape
