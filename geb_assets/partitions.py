"""Partition sets as Dagster sees them: segments joined to recordings, those to benchmarks."""

from __future__ import annotations

import dagster as dg

from geb_assets.benchmarks import FULL, Benchmarks
from geb_assets.registry import Registry
from geb_assets.tables import Partition


class Partitions:
    """The static partition sets of a home, read when the code location loads."""

    def __init__(self, registry: Registry, benchmarks: Benchmarks) -> None:
        self.segments_of = {name: registry.segments(name) for name in registry.recordings}
        segments = [segment for own in self.segments_of.values() for segment in own]
        self.segment = dg.StaticPartitionsDefinition(segments)
        self.recording = dg.StaticPartitionsDefinition(list(registry.recordings))
        self.benchmarks = benchmarks
        known = benchmarks.partitions(list(registry.recordings))
        self.benchmark = dg.StaticPartitionsDefinition(known)
        self.benchmarks_of: dict[str, list[str]] = {name: [] for name in registry.recordings}
        for key in known:
            for name in benchmarks.of_partition(key)[1].recordings:
                self.benchmarks_of[name].append(key)

    def definition(self, partition: Partition) -> dg.StaticPartitionsDefinition:
        sets = {
            "segment": self.segment,
            "recording": self.recording,
            "benchmark": self.benchmark,
        }
        return sets[partition]

    def mapping(self, upstream: Partition, downstream: Partition) -> dg.PartitionMapping:
        """How partitions of an upstream asset meet those of a downstream one."""
        if upstream == downstream == "benchmark":
            return dg.StaticPartitionMapping(self._compared())
        if upstream == downstream:
            return dg.IdentityPartitionMapping()
        if downstream == "benchmark":
            own = self.benchmarks_of
            if upstream == "recording":
                return dg.StaticPartitionMapping(own)
            return dg.StaticPartitionMapping(
                {
                    segment: own[recording]
                    for recording, segments in self.segments_of.items()
                    for segment in segments
                }
            )
        if upstream == "segment":
            return dg.StaticPartitionMapping(
                {
                    segment: recording
                    for recording, own in self.segments_of.items()
                    for segment in own
                }
            )
        return dg.StaticPartitionMapping(dict(self.segments_of))

    def _compared(self) -> dict[str, list[str]]:
        """Each benchmark and variant to those whose scores read it: itself, and where it is the
        full system all others."""
        keys = self.benchmark.get_partition_keys()
        return {
            key: [other for other in keys if other == key or _full_of(other) == key] for key in keys
        }


def _full_of(key: str) -> str:
    return f"{key.rpartition('/')[0]}/{FULL}"
