"""``geb report``: the HTML pages of the benchmarks that were run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.report import page
from geb_assets.benchmarks import FULL
from geb_assets.cli.evaluate import scores_of
from geb_assets.cli.output import Output
from geb_assets.errors import GebError
from geb_assets.home import Home


def report(output: Output, benchmark: str | None, to: Path | None) -> dict[str, Any]:
    """Writes a page a benchmark, of what is scored now; returns their paths."""
    home = Home.of_environment()
    known = home.benchmarks()
    if benchmark is not None:
        known.benchmark(benchmark)
    if to is not None and benchmark is None:
        raise GebError("--html names one page; say of which benchmark")
    names = [benchmark] if benchmark else list(known.benchmarks)
    pages: dict[str, str] = {}
    recordings = home.registry()
    for name in names:
        variants = _scored(home, name)
        if not variants:
            if benchmark:
                raise GebError(f"{name} is not scored yet; run: geb evaluate {name}")
            continue
        path = to or home.path / "reports" / f"{name}.html"
        scores = {v: scores_of(home, f"{name}/{v}") for v in variants}
        rows = {v: home.store.read("predictions", benchmark=name, variant=v) for v in variants}
        text = page(name, scores, rows, lambda one, at: recordings.recording(one).show(at))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise GebError(f"{path} cannot be written: {error.strerror}; name another") from None
        pages[name] = str(path)
        output.say(f"{name}: {path}")
    if not pages:
        raise GebError("no benchmark is scored yet; run: geb evaluate demo")
    return {"pages": pages}


def _scored(home: Home, name: str) -> list[str]:
    """The variants of a benchmark that have scores, the full system first."""
    entries = home.ledger.entries()
    variants = home.benchmarks().benchmark(name).variants
    there = [v for v in variants if ("scores", f"{name}/{v}") in entries]
    return sorted(there, key=lambda variant: variant != FULL)
