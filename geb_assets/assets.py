"""Stages as Dagster assets: a thin shell around ``run_partition``."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.lineage import code_version
from geb_assets.partitions import Partitions
from geb_assets.registry import segment_recording
from geb_assets.run import InvariantBroken, Outcome, Refused, run_partition
from geb_assets.stage import Finding, Stage
from geb_assets.tables import tables_of

OWNERS = ["team:geb"]
FINGERPRINT_TAG = "geb/fingerprint"
RECORDING_TAG = "geb/recording"
BENCHMARK_TAG = "geb/benchmark"


def stage_asset(
    stage: Stage, stages: Sequence[Stage], partitions: Partitions
) -> dg.AssetsDefinition:
    """The Dagster asset of a stage: partitions, lineage, checks and column schema."""
    by_name = {other.asset: other for other in stages}

    @dg.asset(
        name=stage.asset,
        partitions_def=partitions.definition(stage.partition),
        deps=[
            dg.AssetDep(
                name,
                partition_mapping=partitions.mapping(by_name[name].partition, stage.partition),
            )
            for name in stage.upstream
        ],
        code_version=code_version(stage),
        description=stage.description,
        group_name=stage.group,
        kinds=set(stage.kinds),
        owners=OWNERS,
        metadata={"dagster/column_schema": _column_schema(stage)},
        check_specs=[
            dg.AssetCheckSpec(name, asset=stage.asset, description=promise, blocking=True)
            for name, promise in stage.checks.items()
        ],
        required_resource_keys={"home"},
        output_required=False,
    )
    def compute(context: dg.AssetExecutionContext) -> Iterator[Any]:
        home: Home = context.resources.home
        try:
            outcome = run_partition(home, stages, stage, context.partition_key, context.run.run_id)
        except (InvariantBroken, Refused) as error:
            yield from _check_results(stage, error.findings)
            raise dg.Failure(str(error), allow_retries=False) from None
        except GebError as error:
            raise dg.Failure(str(error), allow_retries=False) from None
        yield dg.MaterializeResult(
            asset_key=stage.asset,
            data_version=dg.DataVersion(_asset_version(outcome)),
            tags={FINGERPRINT_TAG: outcome.entry.fingerprint},
            metadata=_metadata(outcome),
        )
        # What is on disk already was judged before it was written.
        findings = outcome.findings or tuple(Finding(name, True, "") for name in stage.checks)
        yield from _check_results(stage, findings)

    return compute


def up_to_date_check(stage: Stage, stages: Sequence[Stage]) -> dg.AssetChecksDefinition:
    """Shows in the UI what the planner knows: Dagster's own staleness does not reach partitions."""

    @dg.asset_check(
        asset=stage.asset,
        name="up_to_date",
        description="No partition is stale, and none may change (as geb plan has it).",
        required_resource_keys={"home"},
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        home: Home = context.resources.home
        steps = [step for step in home.planner(stages).plan() if step.asset == stage.asset]
        lines = [f"* {step.partition}: {step.state}, {step.why}" for step in steps]
        return dg.AssetCheckResult(
            passed=not steps,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{len(steps)} partitions are not up to date" if steps else "up to date",
            metadata={"partitions": dg.MetadataValue.md("\n".join(lines[:200]) or "none")},
        )

    return check


def tags_of(stage: Stage, partition: str) -> dict[str, str]:
    """What a run's tags say of the recording or benchmark that its partition belongs to."""
    if stage.partition == "benchmark":
        return {BENCHMARK_TAG: partition.partition("/")[0]}
    return {
        RECORDING_TAG: partition if stage.partition == "recording" else segment_recording(partition)
    }


def _column_schema(stage: Stage) -> dg.TableSchema:
    tables = tables_of(stage.asset)
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                f"{table.name}.{column.name}" if len(tables) > 1 else column.name,
                str(column.dtype),
                description=column.doc + (f" [{column.unit}]" if column.unit else ""),
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for table in tables
            for column in table.columns
        ]
    )


def _check_results(stage: Stage, findings: Sequence[Finding]) -> Iterator[dg.AssetCheckResult]:
    for finding in findings:
        yield dg.AssetCheckResult(
            check_name=finding.check,
            asset_key=stage.asset,
            passed=finding.passed,
            description=None if finding.passed else finding.message,
        )


def _asset_version(outcome: Outcome) -> str:
    return "-".join(version[:12] for _, version in sorted(outcome.entry.versions.items()))


def _metadata(outcome: Outcome) -> dict[str, Any]:
    metadata: dict[str, Any] = {"up to date already": outcome.reused, "changed": outcome.changed}
    if outcome.result is not None:
        metadata["seconds"] = round(outcome.seconds, 2)
        metadata["failed calls"] = outcome.result.failed
        metadata.update({f"rows {name}": count for name, count in outcome.rows.items()})
        metadata.update(outcome.result.figures)
        for title, text in outcome.result.pages.items():
            metadata[title] = dg.MetadataValue.md(text)
        for title, picture in outcome.result.pictures.items():
            metadata[title] = dg.MetadataValue.md(_markdown_picture(title, picture))
    if outcome.rows:
        own = next(iter(outcome.rows))
        metadata["dagster/row_count"] = outcome.rows.get(outcome.entry.asset, outcome.rows[own])
    return metadata


def _markdown_picture(title: str, picture: bytes) -> str:
    kind = "png" if picture[:4] == b"\x89PNG" else "jpeg"
    return f"![{title}](data:image/{kind};base64,{base64.b64encode(picture).decode()})"
