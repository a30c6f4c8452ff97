"""All stages of the memory, in topological order."""

from __future__ import annotations

from geb_assets.stage import Stage
from geb_assets.writing.clips.asset import STAGE as CLIPS
from geb_assets.writing.detections.asset import STAGE as DETECTIONS
from geb_assets.writing.tracks.asset import STAGE as TRACKS

STAGES: tuple[Stage, ...] = (CLIPS, DETECTIONS, TRACKS)
