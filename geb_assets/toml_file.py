"""A TOML file that commands and people edit: validated, written whole or not at all."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import tomlkit
from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from geb_assets.errors import GebError, refusal

Model = TypeVar("Model", bound=BaseModel)


def load(path: Path, model: type[Model]) -> Model:
    """The file's content; an absent file gives the model's defaults.

    Raises GebError naming the file and the fault where it cannot be read.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return model()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GebError(f"{path} is no valid TOML: {error}; mend it by hand") from None
    except OSError as error:
        raise refusal(path.parent, error) or GebError(f"{path} cannot be read: {error}") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise GebError(f"{path}: {where}: {first['msg']}; mend it by hand") from None


def edit(
    path: Path, model: type[Model], change: Callable[[Model], Model], *, heading: str
) -> Model:
    """Applies a change to the file's content and writes it whole, or not at all.

    The file keeps its comments and its order; one of inline tables or dotted keys is written anew.
    ``heading`` opens a new file.
    """
    with _locked(path):
        after = change(load(path, model))
        values = after.model_dump(exclude_none=True, mode="json")
        model.model_validate(values)
        text = _edited(path.read_text(encoding="utf-8") if path.exists() else heading, values)
        if text is None:
            text = _edited(heading, values)
            assert text is not None
        partial = path.with_suffix(".partial")
        try:
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        return after


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.parent / f".{path.name}.lock", timeout=30):
            yield
    except Timeout:
        raise GebError(f"{path} is being edited by another geb; run the command again") from None
    except OSError as error:
        raise refusal(path.parent, error) or error from None


def _edited(text: str, values: Mapping[str, Any]) -> str | None:
    """TOML text made to hold exactly these values; None where its way of writing defeats that."""
    document = tomlkit.parse(text)
    try:
        _merge(document, values)
        edited = tomlkit.dumps(document)
        return edited if tomllib.loads(edited) == values else None
    except (ValueError, tomlkit.exceptions.TOMLKitError):
        return None


def _merge(target: Any, values: Mapping[str, Any]) -> None:
    """Makes a TOML table hold exactly these values, touching only what differs."""
    for key in [key for key in target if key not in values]:
        del target[key]
    for key, value in values.items():
        if isinstance(value, Mapping):
            if key not in target:
                target[key] = tomlkit.table()
            _merge(target[key], value)
        elif key not in target or _plain(target[key]) != value:
            target[key] = value


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value
