"""Text documents out of a file, a folder, or a tar archive, one at a time."""

from __future__ import annotations

import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from geb_assets.errors import GebError

SUFFIXES = (".json", ".srt", ".csv", ".tsv", ".txt")
ARCHIVES = (".tar.gz", ".tgz", ".tar")


@dataclass(frozen=True)
class Document:
    """One text file: its base name and its content."""

    name: str
    text: str


def documents(path: Path, skipped: Counter[str]) -> Iterator[Document]:
    """The documents under ``path``; an archive is streamed, never unpacked or held whole.

    Files of a folder or archive that are no text format read here are counted in
    ``skipped["skipped"]``. Raises GebError for a path that is missing, empty or unreadable.
    """
    if path.is_dir():
        yield from _folder(path, skipped)
    elif not path.exists():
        raise GebError(f"no file {path}; check the path of the captions or transcripts")
    elif path.name.lower().endswith(ARCHIVES):
        yield from _archive(path, skipped)
    else:
        yield _read(path)


def _wanted(name: str, skipped: Counter[str]) -> bool:
    if name.startswith("."):
        return False
    if name.lower().endswith(SUFFIXES):
        return True
    skipped["skipped"] += 1
    return False


def _folder(path: Path, skipped: Counter[str]) -> Iterator[Document]:
    for file in sorted(path.rglob("*")):
        if file.is_file() and _wanted(file.name, skipped):
            yield _read(file)


def _read(path: Path) -> Document:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GebError(
            f"{path} cannot be read ({error.strerror}); mend it or take it away"
        ) from None
    return Document(path.name, _decode(path.name, data))


def _archive(path: Path, skipped: Counter[str]) -> Iterator[Document]:
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                if not member.isfile() or not _wanted(name, skipped):
                    continue
                stream = archive.extractfile(member)
                if stream is not None:
                    yield Document(name, _decode(f"{path.name}/{name}", stream.read()))
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise GebError(
            f"{path} is no whole tar archive ({error}); fetch or pack it again"
        ) from None


def _decode(name: str, data: bytes) -> str:
    if b"\0" in data[:4096]:
        raise GebError(f"{name} is no UTF-8 text; save it as UTF-8 text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GebError(f"{name} line {line} is no UTF-8 text; save it as UTF-8") from None
    if not text.strip():
        raise GebError(f"{name} is empty; give a file with lines in it")
    return text
