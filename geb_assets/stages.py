"""All stages, of the memory and of its evaluation, in topological order."""

from __future__ import annotations

from evaluation.assets.predictions import STAGE as PREDICTIONS
from evaluation.assets.scores import STAGE as SCORES
from geb_assets.stage import Stage
from geb_assets.writing.chains.asset import STAGE as CHAINS
from geb_assets.writing.clips.asset import STAGE as CLIPS
from geb_assets.writing.descriptions.asset import STAGE as DESCRIPTIONS
from geb_assets.writing.detections.asset import STAGE as DETECTIONS
from geb_assets.writing.embeddings.asset import STAGE as EMBEDDINGS
from geb_assets.writing.entities.asset import STAGE as ENTITIES
from geb_assets.writing.episodes.asset import STAGE as EPISODES
from geb_assets.writing.graph.asset import STAGE as GRAPH
from geb_assets.writing.lines.asset import STAGE as LINES
from geb_assets.writing.names.asset import STAGE as NAMES
from geb_assets.writing.observations.asset import STAGE as OBSERVATIONS
from geb_assets.writing.tracks.asset import STAGE as TRACKS
from geb_assets.writing.triples.asset import STAGE as TRIPLES

STAGES: tuple[Stage, ...] = (
    CLIPS,
    DETECTIONS,
    TRACKS,
    OBSERVATIONS,
    LINES,
    DESCRIPTIONS,
    EMBEDDINGS,
    ENTITIES,
    NAMES,
    EPISODES,
    CHAINS,
    GRAPH,
    TRIPLES,
    PREDICTIONS,
    SCORES,
)
