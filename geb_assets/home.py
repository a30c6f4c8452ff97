"""A home: the folder (``$GEB_HOME``) that holds one memory's tables, caches and registry."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from geb_assets import benchmarks, registry
from geb_assets.benchmarks import Benchmarks
from geb_assets.errors import GebError, refusal
from geb_assets.ledger import Ledger
from geb_assets.lineage import Planner
from geb_assets.registry import Registry
from geb_assets.stage import Progress, Stage
from geb_assets.tables import TABLES
from resources.chat.cache import ReplyCache
from resources.chat.calls import Budget, Calls
from resources.frames import FrameCache
from resources.profiles import Profile, configured
from resources.store import DeltaStore

DEFAULT = "./geb_home"
REPLIES = "replies.sqlite"
"""Below the cache: what chat models replied."""


def silent(what: str, done: int, total: int) -> None:
    """A progress that tells nobody."""


@dataclass(frozen=True)
class Home:
    """Where everything of one home lies. Making one touches nothing."""

    path: Path
    progress: Progress = silent
    budget: Budget = field(default_factory=Budget, compare=False)
    """What chat models may take, over all that is done with this object."""

    @classmethod
    def of_environment(cls) -> Home:
        """The home that ``GEB_HOME`` names, else ``./geb_home``."""
        return cls(Path(os.environ.get("GEB_HOME") or DEFAULT).absolute())

    @property
    def tables(self) -> str:
        """Folder or object-store URL of the Delta tables (``GEB_TABLES`` overrides it)."""
        return os.environ.get("GEB_TABLES") or str(self.path / "tables")

    @property
    def store(self) -> DeltaStore:
        return DeltaStore(self.tables)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.path / "ledger.sqlite")

    @property
    def models(self) -> Path:
        """Model files (``GEB_MODELS`` overrides it, so that homes can share them)."""
        return Path(os.environ.get("GEB_MODELS") or self.path / "models")

    @property
    def cache(self) -> Path:
        return self.path / "cache"

    @property
    def inbox(self) -> Path:
        """Watched folder: a video put into ``inbox/RECORDING/`` is added to that recording."""
        return self.path / "inbox"

    def calls(self) -> Calls:
        """Kept replies of chat models, and this object's budget."""
        return Calls(ReplyCache(self.cache / REPLIES), self.budget)

    def registry(self) -> Registry:
        return registry.load(self.path)

    def benchmarks(self) -> Benchmarks:
        return benchmarks.load(self.path)

    def profile(self) -> Profile:
        """The profile in use, with this home's options."""
        known = self.registry()
        return configured(known.profile, known.options)

    def frames(self) -> FrameCache:
        return FrameCache(self.cache / "frames", self.registry().frame_cache_gb * 1e9)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One writer of a home at a time; the lock goes with the process that holds it.

        Raises GebError where another has it, or the home cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".build.lock")
            lock.acquire(timeout=0)
        except Timeout:
            raise GebError(
                f"another geb build of {self.path} is running; wait for it, or end it"
            ) from None
        except OSError as error:
            raise refusal(self.path, error) or error from None
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def writing(self, asset: str, partition: str) -> Iterator[None]:
        """One run of a partition at a time: a second one waits for the first."""
        name = f"{asset}~{partition}".replace("/", "~")
        folder = self.path / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{name}.lock"):
            yield

    def planner(self, stages: Sequence[Stage]) -> Planner:
        """A planner over the registry and the ledger as they are now.

        What the ledger says of a table that is gone is dropped for good: the table may come back
        with one partition in it.
        """
        known, store, entries = self.registry(), self.store, self.ledger.entries()
        gone = {table.asset for table in TABLES.values() if not store.has(table.name)}
        for asset, partition in [key for key in entries if key[0] in gone]:
            self.ledger.drop(asset, partition)
            del entries[asset, partition]
        return Planner(
            stages,
            known,
            configured(known.profile, known.options),
            entries,
            self.benchmarks(),
        )
