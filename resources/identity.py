"""Which model an adapter runs: what goes into fingerprints and the ``model`` columns."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True)
class ModelIdentity:
    """Name, revision and digest of a model. Parameters are counted apart."""

    name: str
    revision: str
    """Package and version, or the hub's revision."""
    digest: str
    """sha256 of the weights, in hex; empty for a model without weights, and where the revision
    alone says which they are."""
    settings: str = ""
    """Options that change what it returns: prompt version, precision, size of the vector."""

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}" + (f" ({self.settings})" if self.settings else "")


def joint_digest(*digests: str) -> str:
    """One digest, in hex, of several files' digests."""
    return sha256(" ".join(digests).encode()).hexdigest()
