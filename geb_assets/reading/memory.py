"""The memory of one recording, searched as of any time (paper 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.naming import Naming, carried, cast_names
from geb_assets.reading.dense import DenseIndex, VectorRows
from geb_assets.reading.index import Index
from geb_assets.reading.matching import Candidates, match_scores
from geb_assets.reading.rows import VECTORS, Frames, plain_rows, vectors_of
from geb_assets.reading.seeds import Matches, best, highest, seed_vector
from geb_assets.reading.selection import CATEGORIES, DIGITS, Ranked, select
from geb_assets.reading.settings import DEFAULT, Budget, SearchSettings
from geb_assets.reading.source import Source
from geb_assets.reading.split import split_pagerank
from geb_assets.reading.times import named_times
from geb_assets.reading.units import APPEARANCES, CHAINS, Frame, Unit, UnitKind
from geb_assets.reading.variants import Variant, variant_of
from geb_assets.tables import TABLES

NAMING_COLUMNS = ("entity", "day", "cast_name", "named_at")
Places = NDArray[np.int64]
Vector = NDArray[np.float32]

_OBSERVATION, _CLIP = CATEGORIES.index("observation"), CATEGORIES.index("clip")
_MANY = [_OBSERVATION, CATEGORIES.index("triple")]
"""What is too much to score one and all."""
_SCALES = [place for place, name in enumerate(CATEGORIES) if name[0].isdigit()]
_NEAR_S = 60.0
"""How far from a point in time the nearest unit may lie, s (spec 9.31)."""


class Encoder(Protocol):
    """Turns queries into vectors of the space that was searched when the memory was written."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, eq=False)
class Query:
    """A query as the channels read it."""

    text: str
    text_vector: Vector | None
    """None where the memory has no text vectors."""
    visual_vector: Vector | None
    """None where there is no visual channel."""


@dataclass(frozen=True, eq=False)
class Memory:
    """One recording's memory. Nothing in it changes: threads share it, and ask at any time."""

    recording: str
    clock: Clock
    settings: SearchSettings
    index: Index
    encoder: Encoder
    visual_encoder: Encoder | None = None
    stored_frames: Callable[[str], pl.DataFrame] | None = None
    """Clip to its frames (time_s, jpeg)."""
    namings: pl.DataFrame = field(default_factory=lambda: TABLES["names"].empty())
    """Rows of table `names`."""
    facts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CHAINS))
    """Rows of table `chains`, with the columns of :data:`units.CHAINS`."""
    triples: pl.DataFrame | None = None
    """What the captions state, with the columns of :data:`rows.TRIPLES`, in a variant that reads
    it; None where no model told it."""

    @classmethod
    def open(
        cls,
        home: Home | Path | str,
        recording: str,
        *,
        variant: str | Variant | None = None,
        settings: SearchSettings | None = None,
    ) -> Memory:
        """Opens the memory of a recording that is built.

        ``settings`` are the recording's own where none are given; a variant may change some.
        The first opening after a build writes an index under ``cache/index``, later ones map it.
        Raises GebError where there is no such recording or variant, or where the memory is not
        built or stale.
        """
        at_home = home if isinstance(home, Home) else Home(Path(home))
        chosen = variant_of(variant)
        source = Source.of(at_home, recording)
        clock = Clock.parse(source.planner.registry.recording(recording).clock)
        read = chosen.settings(settings or source.reading())
        return cls(
            recording,
            clock,
            read,
            source.index(chosen, read),
            source.text_embedder(),
            source.clip_embedder(),
            stored_frames=source.frames_of(),
            namings=chosen.namings(source.rows("names")),
            facts=source.rows("chains").select(list(CHAINS)),
            triples=source.triples(chosen),
        )

    @classmethod
    def from_tables(
        cls,
        frames: Frames,
        encoder: Encoder,
        *,
        variant: str | Variant | None = None,
        settings: SearchSettings = DEFAULT,
        recording: str = "recording",
        clock: Clock | None = None,
        visual_encoder: Encoder | None = None,
    ) -> Memory:
        """A memory in RAM of one recording's rows, by table name; a table not given is empty.

        ``graph_nodes`` and ``graph_edges`` are needed; vectors come from ``embeddings`` and
        ``episode_embeddings``.
        """
        chosen = variant_of(variant)
        vectors = {
            kind: VectorRows(
                [
                    vectors_of(frames[table].lazy(), table, kind)
                    for table in VECTORS
                    if table in frames
                ]
            )
            for kind in ("text", "visual")
        }
        written = plain_rows(frames)
        triples = written.get("triples") if chosen.reads_triples else None
        index = Index.build(
            chosen.apply(written),
            chosen.vectors(vectors["text"], written, encoder.embed),
            vectors["visual"],
            settings,
        )
        stored = frames.get("frames")

        def frames_of(clip: str) -> pl.DataFrame:
            assert stored is not None
            return stored.filter(pl.col("clip") == clip).select("time_s", "jpeg").sort("time_s")

        return cls(
            recording,
            clock or Clock("seconds"),
            settings,
            index,
            encoder,
            visual_encoder,
            None if stored is None else frames_of,
            chosen.namings(frames.get("names", TABLES["names"].empty())),
            frames.get("chains", TABLES["chains"].empty()).select(list(CHAINS)),
            triples,
        )

    @property
    def span(self) -> tuple[float, float]:
        """First start and last end of all it holds, s; zeros where it holds nothing."""
        nodes = self.index.nodes
        if not len(nodes.from_s):
            return 0.0, 0.0
        return float(nodes.start_s.min()), float(nodes.end_s.max())

    @property
    def absent(self) -> tuple[str, ...]:
        """What this memory lacks of the channels its profile has, one plain line each; the others
        then share. A profile without a model for clips has no visual channel to lack."""
        lines: list[str] = []
        if self.index.text is None:
            lines.append("text channel absent: this memory has no text vectors")
        if self.index.visual is None and self.visual_encoder is not None:
            lines.append("visual channel absent: this memory has no clip vectors")
        elif self.index.visual is not None and self.visual_encoder is None:
            lines.append("visual channel absent: the profile has no model for visual queries")
        return tuple(lines)

    def encode(self, query: str) -> Query:
        """The query's vectors. Raises GebError where they do not fit those of the memory."""
        return Query(
            query,
            _encoded(query, self.encoder, self.index.text),
            _encoded(query, self.visual_encoder, self.index.visual),
        )

    def search(
        self,
        query: str | Query,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Budget | None = None,
    ) -> list[Unit]:
        """The units that answer a query best, as the memory was ``at`` that time (None: all of it).

        ``exclude`` holds ids that earlier rounds returned; the budget is the settings' own where
        none is given. Nothing visible, or nothing reached, gives no units.
        """
        when, limits = np.inf if at is None else float(at), budget or self.settings.budget
        nodes = self.index.nodes
        visible = nodes.visible(when)
        if not visible:
            return []
        asked = self.encode(query) if isinstance(query, str) else query
        words = self._lexical(asked, when)
        found = self._matches(asked, words, when)
        scores = self._propagate(self._seeds(found), visible, when)
        factor: Callable[[Places], NDArray[np.float64]] = partial(self._factor, asked, when=when)
        if self.settings.ranking == "match":
            scores = self._matched(asked, words, found, scores, visible, when)
            factor = _unchanged
        excluded = set(exclude)
        if limits.back_fill:
            # Their score is spent on nobody: they still route.
            scores[self._places(excluded)] = 0.0
        ranked = Ranked(
            scores[:visible],
            nodes.category[:visible],
            self.index.entities.keys_at(when)[:visible],
            nodes.order[:visible],
        )
        places, shown = select(ranked, factor, limits)
        units = [
            self._unit(place, score, when)
            for place, score in zip(places.tolist(), shown.tolist(), strict=True)
        ]
        return [unit for unit in units if unit.id not in excluded]

    def matches(self, query: str | Query, *, at: float | None = None) -> list[Matches]:
        """What each channel finds to start from, visible at that time, before it is weighted."""
        when = np.inf if at is None else float(at)
        asked = self.encode(query) if isinstance(query, str) else query
        found = self._matches(asked, self._lexical(asked, when), when)
        return [matches.first(self._channel(matches)[0]) for matches in found]

    def seeds(self, query: str | Query, *, at: float | None = None) -> NDArray[np.float64]:
        """Seeds by place, float64 [N] at sum 1; zeros where no channel finds anything."""
        return self._seeds(self.matches(query, at=at))

    def read_out(
        self, start_s: float, end_s: float, *, at: float | None = None, entities: Collection[str]
    ) -> list[Unit]:
        """30-second episodes and clips that overlap a time, and the observations there of these
        entities, in time order; see :meth:`units.SearchedMemory.read_out`."""
        when = np.inf if at is None else float(at)
        nodes = self.index.nodes
        visible = nodes.visible(when)
        start, end = nodes.start_s[:visible], nodes.end_s[:visible]
        category = nodes.category[:visible]
        moments = (category == CATEGORIES.index("30sec")) | (category == _CLIP)
        keys = self.index.entities.keys_at(when)
        own = [self._members(entity, visible, keys) for entity in entities]
        known = np.zeros(visible, bool)
        known[np.concatenate([np.zeros(0, np.int64), *own])] = True
        wanted = moments | known
        if start_s < end_s:
            found = np.flatnonzero(wanted & (start < end_s) & (end > start_s))
        else:
            found = np.flatnonzero(wanted & (start <= start_s) & (end > start_s))
            if not moments[found].any():
                away = np.maximum(np.maximum(start - start_s, start_s - end), 0.0)
                away[~moments] = np.inf
                least = away.min(initial=np.inf)
                if least <= _NEAR_S:
                    found = np.union1d(found, np.flatnonzero(away == least))
        ranking = np.lexsort((nodes.order[found], start[found]))
        return [self._unit(place, 0.0, when) for place in found[ranking].tolist()]

    def appearances(self, entities: Sequence[str], *, at: float | None = None) -> pl.DataFrame:
        """Every observation of these entities visible at that time, in time order, with the
        columns of :data:`units.APPEARANCES`."""
        when = np.inf if at is None else float(at)
        nodes = self.index.nodes
        visible, keys = nodes.visible(when), self.index.entities.keys_at(when)
        rows: list[tuple[object, ...]] = []
        for entity in dict.fromkeys(entities):
            for place in self._members(entity, visible, keys).tolist():
                told = int(nodes.told[place])
                has = bool(nodes.described[place]) and nodes.doc_from_s[told] <= when
                rows.append(
                    (
                        entity,
                        nodes.ids[place],
                        float(nodes.start_s[place]),
                        float(nodes.end_s[place]),
                        float(nodes.from_s[place]),
                        nodes.labels[int(nodes.label[place])],
                        float(nodes.doc_from_s[told]) if has else None,
                        nodes.names[told] if has else None,
                        nodes.texts[told] if has else None,
                    )
                )
        frame = pl.DataFrame(rows, schema=APPEARANCES, orient="row")
        return frame.sort("start_s", "end_s", "observation")

    def cast_names(self, entities: Sequence[str], *, at: float | None = None) -> dict[str, str]:
        """Entity to cast name, for those that are named at that time: decided from what had been
        named, proven different and seen by then (spec 9.19)."""
        when = np.inf if at is None else float(at)
        known = self.namings.filter(pl.col("named_at") <= when)
        if known.is_empty():
            return {}
        namings = [Naming(*row) for row in known.select(NAMING_COLUMNS).iter_rows()]
        carrying = carried(namings)
        asked = {carrying[entity] for entity in entities if entity in carrying}
        named = sorted(entity for entity, name in carrying.items() if name in asked)
        visible, keys = self.index.nodes.visible(when), self.index.entities.keys_at(when)
        sizes = {entity: len(self._members(entity, visible, keys)) for entity in named}
        kin = [naming for naming in namings if naming.entity in sizes]
        names = cast_names(kin, self.separated(named, at=at), sizes)
        return {entity: names[entity] for entity in entities if entity in names}

    def separated(self, entities: Sequence[str], *, at: float | None = None) -> set[frozenset[str]]:
        """Pairs of these entities of which two observations, visible at that time, were proven
        different (spec 9.39)."""
        when = np.inf if at is None else float(at)
        index = self.index.entities
        visible, keys = self.index.nodes.visible(when), index.keys_at(when)
        owner: dict[int, str] = {}
        own: dict[str, Places] = {}
        for entity in entities:
            own[entity] = self._members(entity, visible, keys)
            owner.update((int(keys[place]), entity) for place in own[entity][:1].tolist())
        pairs: set[frozenset[str]] = set()
        for entity, places in own.items():
            for place in places.tolist():
                others = keys[index.apart_at(place, when)]
                for key in set(others.tolist()) & owner.keys():
                    if owner[key] != entity:
                        pairs.add(frozenset((entity, owner[key])))
        return pairs

    def chains(self, *, at: float | None = None) -> pl.DataFrame:
        """Facts with ``visible_from <= at``, with the columns of :data:`units.CHAINS`."""
        if at is None:
            return self.facts
        return self.facts.filter(pl.col("visible_from") <= at)

    def clips(self, *, at: float | None = None) -> list[Unit]:
        """Every clip visible at that time, in time order."""
        when = np.inf if at is None else float(at)
        nodes = self.index.nodes
        places = np.flatnonzero(nodes.category[: nodes.visible(when)] == _CLIP)
        order = np.argsort(nodes.start_s[places], kind="stable")
        return [self._unit(place, 0.0, when) for place in places[order].tolist()]

    def unit_at(self, place: int, *, at: float | None = None) -> Unit:
        """The unit at a place of the index, as it is at that time."""
        return self._unit(place, 0.0, np.inf if at is None else float(at))

    def frames(self, clip: str, *, at: float | None = None) -> list[Frame]:
        """Stored frames of a clip up to that time, in time order."""
        if self.stored_frames is None:
            return []
        rows = self.stored_frames(clip)
        if at is not None:
            rows = rows.filter(pl.col("time_s") <= at)
        return [Frame(clip, time_s, jpeg) for time_s, jpeg in rows.iter_rows()]

    def _channel(self, matches: Matches) -> tuple[int, float]:
        """Most seeds of a channel, and their weight."""
        settings = self.settings
        return {
            "text": (settings.text_seeds, settings.text_weight),
            "lexical": (settings.lexical_seeds, settings.lexical_weight),
            "visual": (settings.visual_seeds, settings.visual_weight),
        }[matches.channel]

    def _seeds(self, found: Sequence[Matches]) -> NDArray[np.float64]:
        channels = [(matches, *self._channel(matches)) for matches in found]
        return seed_vector(
            ((matches.first(count), weight) for matches, count, weight in channels),
            len(self.index.nodes.from_s),
        )

    def _lexical(self, query: Query, when: float) -> tuple[Places, NDArray[np.float64]]:
        """Nodes whose text shares a word with the query, and their BM25 scores."""
        docs, scores = self.index.lexical.scores(query.text, when)
        return self.index.nodes.doc_place[docs], scores

    def _matches(
        self, query: Query, words: tuple[Places, NDArray[np.float64]], when: float
    ) -> list[Matches]:
        """What each channel finds: as many as are seeds, or as are scored."""
        order, settings = self.index.nodes.order, self.settings
        depth = settings.match.depth if settings.ranking == "match" else 0
        found: list[Matches] = []
        if self.index.text is not None and query.text_vector is not None:
            count = max(settings.text_seeds, depth)
            rows, cosines = self.index.text.top(query.text_vector, count, when)
            found.append(best("text", self.index.text.place[rows], cosines, order, count))
        places, scores = words
        if len(scores) and scores.max() > 0:
            count = max(settings.lexical_seeds, depth)
            found.append(best("lexical", places, scores / scores.max(), order, count))
        if self.index.visual is not None and query.visual_vector is not None:
            count = max(settings.visual_seeds, depth)
            rows, cosines = self.index.visual.top(query.visual_vector, count, when)
            found.append(best("visual", self.index.visual.place[rows], cosines, order, count))
        return found

    def _matched(
        self,
        query: Query,
        words: tuple[Places, NDArray[np.float64]],
        found: Sequence[Matches],
        pagerank: NDArray[np.float64],
        visible: int,
        when: float,
    ) -> NDArray[np.float64]:
        """Scores by place, float64 [N], of all that :class:`settings.Match` ranks; else 0."""
        settings, nodes, timeline = self.settings, self.index.nodes, self.index.timeline
        shown = timeline.places < visible
        episodes = timeline.places[shown]
        seen = self._observed(found, pagerank, visible, settings.match.depth)
        cosine = np.zeros(len(episodes) + len(seen))
        if query.text_vector is not None:
            cosine[: len(episodes)] = timeline.cosines(query.text_vector, when)[shown]
            cosine[len(episodes) :] = self._cosines(query.text_vector, seen, when)
        lexical = np.zeros(len(pagerank))
        lexical[words[0]] = np.maximum(words[1], 0.0)
        places = np.concatenate([episodes, seen])
        # Of what may be returned: an entity's last time can still lie ahead.
        now = float(nodes.end_s[:visible].max(where=nodes.category[:visible] >= 0, initial=0.0))
        matched = Candidates(
            episodes=len(episodes),
            kind=nodes.category[places],
            start_s=nodes.start_s[places],
            end_s=nodes.end_s[places],
            lexical=lexical[places],
            cosine=cosine,
            graph=pagerank[places] * (cosine + 1.0) / 2.0,
        )
        scores = np.zeros(len(pagerank))
        scores[places] = match_scores(
            matched,
            settings.match,
            now=now,
            named=named_times(query.text, clock=self.clock, at=when if when < np.inf else now),
        )
        clips = np.flatnonzero((nodes.category[:visible] == _CLIP) & (nodes.caption[:visible] >= 0))
        # A clip has no text of its own.
        scores[clips] = settings.textless * scores[nodes.caption[clips]]
        return scores

    def _observed(
        self,
        found: Sequence[Matches],
        pagerank: NDArray[np.float64],
        visible: int,
        depth: int,
    ) -> Places:
        """Observations and triples that a channel or the graph brings near the top, by place."""
        nodes = self.index.nodes
        reached = np.flatnonzero(np.isin(nodes.category[:visible], _MANY))
        near = np.round(pagerank[reached], DIGITS)
        routed = reached[highest(near, nodes.order[reached], depth)]
        matched = np.concatenate([np.zeros(0, np.int64), *(one.places for one in found)])
        return np.union1d(routed, matched[np.isin(nodes.category[matched], _MANY)])

    def _cosines(self, vector: Vector, places: Places, when: float) -> NDArray[np.float64]:
        """Text cosine of these nodes; 0 where no vector is visible."""
        cosines = np.zeros(len(places))
        if self.index.text is not None:
            rows = self.index.nodes.text_row[places]
            has = (rows >= 0) & (rows < self.index.text.visible(when))
            cosines[has] = self.index.text.cosines(vector, rows[has])
        return cosines

    def _propagate(
        self, seeds: NDArray[np.float64], visible: int, when: float
    ) -> NDArray[np.float64]:
        return split_pagerank(
            self.index.adjacency.at(when),
            seeds,
            visible=visible,
            damping=self.settings.damping,
            tol=self.settings.tol,
            max_iter=self.settings.max_iter,
        )

    def _factor(self, query: Query, places: Places, when: float) -> NDArray[np.float64]:
        """What PageRank is multiplied by on these nodes: float64 [n], at most 1."""
        factor = np.full(len(places), self.settings.textless)
        if self.index.text is None or query.text_vector is None:
            return factor
        rows = self.index.nodes.text_row[places]
        has = (rows >= 0) & (rows < self.index.text.visible(when))
        cosines = self.index.text.cosines(query.text_vector, rows[has])
        factor[has] = (cosines + 1.0) / 2.0 if self.settings.cosine == "shifted" else cosines
        return np.asarray(np.minimum(factor, 1.0))

    def _unit(self, place: int, score: float, when: float) -> Unit:
        nodes = self.index.nodes
        category = int(nodes.category[place])
        kind = cast(UnitKind, "episode" if category in _SCALES else CATEGORIES[category])
        shown = int(nodes.caption[place]) if kind == "clip" else place
        hidden = shown < 0 or nodes.from_s[shown] > when
        text = None if hidden else nodes.text_at(shown, when)
        entity = None
        if kind == "observation":
            entity = self.index.entities.entity_of(place, when) or nodes.ids[place]
        return Unit(
            kind=kind,
            id=nodes.ids[place],
            start_s=float(nodes.start_s[place]),
            end_s=float(nodes.end_s[place]),
            score=score,
            text="" if text is None else nodes.texts[text],
            entity=entity,
            scale=CATEGORIES[category] if kind == "episode" else None,
        )

    def _members(self, entity: str, visible: int, keys: Places) -> Places:
        """Visible observations of an entity, in time order; one alone goes by its own id."""
        code = self.index.entities.names.find(entity)
        if code is not None:
            return self.index.entities.members_at(code, visible, keys)
        place = self.index.nodes.ids.find(entity, self.index.nodes.by_id)
        alone = (
            place is not None and place < visible and keys[place] >= len(self.index.entities.names)
        )
        return np.array([place] if alone else [], np.int64)

    def _places(self, ids: Collection[str]) -> Places:
        nodes = self.index.nodes
        found = (nodes.ids.find(one, nodes.by_id) for one in sorted(ids))
        return np.array([place for place in found if place is not None], np.int64)


def _unchanged(places: Places) -> NDArray[np.float64]:
    return np.ones(len(places))


def _encoded(query: str, encoder: Encoder | None, index: DenseIndex | None) -> Vector | None:
    if encoder is None or index is None:
        return None
    vector = np.asarray(encoder.embed([query])[0], np.float32)
    if len(vector) != index.dimension:
        raise GebError(
            f"the query has {len(vector)} numbers and the memory's vectors have {index.dimension}: "
            "they come from different models; choose the profile that wrote the memory"
        )
    return vector
