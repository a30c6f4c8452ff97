"""Partition sets as Dagster sees them: segments joined to their recordings."""

from __future__ import annotations

import dagster as dg

from geb_assets.registry import Registry
from geb_assets.tables import Partition


class Partitions:
    """The static partition sets of a registry, read when the code location loads."""

    def __init__(self, registry: Registry) -> None:
        self.segments_of = {name: registry.segments(name) for name in registry.recordings}
        segments = [segment for own in self.segments_of.values() for segment in own]
        self.segment = dg.StaticPartitionsDefinition(segments)
        self.recording = dg.StaticPartitionsDefinition(list(registry.recordings))

    def definition(self, partition: Partition) -> dg.StaticPartitionsDefinition:
        return self.segment if partition == "segment" else self.recording

    def mapping(self, upstream: Partition, downstream: Partition) -> dg.PartitionMapping:
        """How partitions of an upstream asset meet those of a downstream one."""
        if upstream == downstream:
            return dg.IdentityPartitionMapping()
        if upstream == "segment":
            return dg.StaticPartitionMapping(
                {
                    segment: recording
                    for recording, own in self.segments_of.items()
                    for segment in own
                }
            )
        return dg.StaticPartitionMapping(dict(self.segments_of))
