"""`geb ask` and `geb search` on the command line: what they show, and every kind of bad input."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from geb_assets.adding import add_videos, set_parameters
from geb_assets.home import Home
from tests.resources.chat.scripted import Script, Step, refuses, says
from tests.test_cli import geb, refused, told


def line_of(*words: object) -> str:
    """The plain line of a command that fails; once, where `refused` has looked at both outputs."""
    result = geb(*words, "--json")
    assert result.exit_code == 1, result.output
    error: str = json.loads(result.stdout)["error"]
    assert "\n" not in error and "Traceback" not in result.output
    return error


ASK = ("ask", "r", "When was the stop sign last seen?")
SEARCHED = ("search", "r", "a stop sign")


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEB_CHAT_URL", raising=False)


def test_the_answer_and_what_decided_it(home: Home, tmp_path: Path) -> None:
    page = tmp_path / "answer.html"
    result = geb(*ASK, "--html", page)
    assert result.exit_code == 0, result.output
    shown = result.stdout
    assert "searched  When was the stop sign last seen?" in shown and "what decided it" in shown
    assert "stop sign · object#" in shown and "(r/e0000" in shown
    (folder,) = {
        Path(line.split("pictures: ")[1]) for line in shown.splitlines() if "pictures: " in line
    }
    assert all(path.read_bytes()[:2] == b"\xff\xd8" for path in folder.iterdir())
    assert any(folder.iterdir()) and folder.is_relative_to(home.cache)
    written = page.read_text()
    assert "decided the answer" in written and "Round 1" in written
    assert written.count("data:image/jpeg;base64,/9j/") > 3
    geb("forget", "r", "--yes")
    assert not folder.exists()


def test_a_home_that_refuses_pictures_takes_nothing_from_the_answer(home: Home) -> None:
    home.cache.mkdir(exist_ok=True)
    (home.cache / "pictures").write_text("in the way")
    result = geb(*ASK)
    assert result.exit_code == 0, result.output
    assert "what decided it" in result.stdout and "note: not kept: " in result.output


def test_json_of_ask(home: Home) -> None:
    answer = told(geb(*ASK, "--choice", "on the wall", "--choice", "in a tree", "--json"))
    assert {"answer", "choice", "confidence", "rounds", "units"} <= set(answer)
    assert answer["choice"] in ("A", "B")
    assert answer["answerer"] == "embedded answerer"
    ids = {unit["id"] for unit in answer["units"]}
    assert {name for round_ in answer["rounds"] for name in round_["units"]} == ids


def test_search_shows_one_name_and_the_id_beside_it(home: Home) -> None:
    shown = geb("search", "r", "a stop sign").stdout
    units = told(geb("search", "r", "a stop sign", "--json"))["units"]
    entity = next(unit["entity"] for unit in units if unit["entity"])
    number = int(entity.rsplit("e", 1)[1])
    assert f"· object#{number}  {entity}" in shown


@pytest.mark.parametrize("command", [ASK, SEARCHED])
@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("DAY1 09:00", "lies before this recording, which starts at DAY1 10:00:00"),
        ("DAY3 09:00", "lies after this recording"),
        ("DAY1 10:30", "lies in a gap of this recording, between DAY1 10:00:06"),
        ("10:00:03", "'10:00:03' names no day; write it like 'DAY1"),
        ("25:99", "'25:99' is no time of day"),
        ("", "'' is no time"),
        ("noon", "'noon' is no time"),
    ],
)
def test_times_that_are_none_are_one_plain_line(
    home: Home, command: tuple[str, ...], at: str, message: str
) -> None:
    assert message in line_of(*command, "--at", at)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--choice", "red"), "one choice is no choice"),
        (("--choice", "red", "--choice", "Red "), "'red' stands there twice"),
        (("--choice", "red", "--choice", " "), "a choice is empty"),
        (("--choice", "red", "--choice", "x" * 50_000), "50,000 characters is too long"),
        (("--html", "."), ". cannot be written"),
        (("--model", "chat"), "set GEB_CHAT_URL"),
    ],
)
def test_bad_options_are_one_plain_line(home: Home, words: tuple[str, ...], message: str) -> None:
    assert message in line_of(*ASK, *words)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("  ", "the question is empty"),
        ("x " * 25_000, "50,000 characters is too long"),
        ("who \udcff?", "no UTF-8 text"),
    ],
)
def test_questions_that_are_none(home: Home, question: str, message: str) -> None:
    assert message in line_of("ask", "r", question)
    query = message.replace("question", "query").replace(" is too long", "")
    assert query in line_of("search", "r", question)


@pytest.mark.parametrize("question", ["谁喝了红杯子？", "هل القطة في المطبخ؟", "[/red] {}%s", "?!"])
def test_any_script_is_a_question(home: Home, question: str) -> None:
    answer = told(geb("ask", "r", question, "--choice", "نعم", "--choice", "不", "--json"))
    assert answer["choice"] in ("A", "B")
    assert geb("ask", "r", question).exit_code == 0
    assert isinstance(told(geb("search", "r", question, "--json"))["units"], list)


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_memory_that_is_not_there(home: Home, tmp_path: Path, command: str) -> None:
    assert "no recording 'nobody' here (r, s)" in refused(command, "nobody", "Who?")
    lines = tmp_path / "said.csv"
    lines.write_text("start,end,text\n1,2,I pour the tea\n")
    add_videos(home, "t", [], captions=[lines], clock="seconds")
    assert "the memory of t is not built; run: geb build t" in refused(command, "t", "Who?")
    set_parameters(home, "r", {"graph.containment": 0.25})
    assert "the memory of r is stale" in refused(command, "r", "Who?")
    shutil.rmtree(home.path / "tables" / "graph_nodes")
    assert "not built; run: geb build r" in refused(command, "r", "Who?")


def test_an_endpoint_that_is_down(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("GEB_CHAT_URL", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    line = refused(*ASK)
    assert "cannot be reached" in line and "GEB_CHAT_URL" in line and "--model embedded" in line
    assert told(geb(*ASK, "--model", "embedded", "--json"))["answerer"] == "embedded answerer"


SEARCH = says('{"decision": "search", "search_query": "Where hangs the sign?"}')
STOP = says('{"decision": "answer", "search_query": ""}')
CHOICES = ("--choice", "here", "--choice", "there")


@pytest.fixture
def endpoint(script: Script, monkeypatch: pytest.MonkeyPatch) -> Script:
    """An endpoint that follows a script, waited for no longer than it takes."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("GEB_CHAT_URL", script.url)
    return script


def test_a_chat_model_steers_and_answers(home: Home, endpoint: Script) -> None:
    endpoint.steps[:] = [SEARCH, STOP, says('{"answer": "B"}')]
    answer = told(geb(*ASK, *CHOICES, "--json"))
    assert (answer["choice"], answer["answer"], answer["fault"]) == ("B", "there", None)
    assert [round_["query"] for round_ in answer["rounds"]] == ["Where hangs the sign?", ""]
    assert answer["tokens"] == {"prompt": 33, "completion": 9}
    shown = endpoint.requests[-1]["messages"][1]["content"]
    urls = [part["image_url"]["url"] for part in shown if part["type"] == "image_url"]
    assert urls and all(url.startswith("data:image/jpeg;base64,") for url in urls)


def test_refused_pictures_are_left_out(home: Home, endpoint: Script) -> None:
    blind = refuses(500, "image input is not supported")
    endpoint.steps[:] = [SEARCH, STOP, blind, says('{"answer": "A"}')]
    answer = told(geb(*ASK, *CHOICES, "--json"))
    assert answer["choice"] == "A" and "text alone" in answer["fault"]
    assert isinstance(endpoint.requests[-1]["messages"][1]["content"], str)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (refuses(500, "oops"), "failed; look after it"),
        (Step(429, "{}", {"retry-after": "0"}), "limits its callers"),
        (Step(cut=True), "cut the connection"),
        (Step(body="{not json"), "cannot be read"),
        (says(""), "cannot be read"),
        (refuses(401, "bad key"), "refused the key; set the variable GEB_CHAT_KEY"),
        (refuses(404, "no such model"), "has no model 'default'"),
        (says("I had rather not say."), "names none of the choices"),
    ],
)
def test_an_endpoint_that_fails_is_one_plain_line(
    home: Home, endpoint: Script, step: Step, message: str
) -> None:
    endpoint.steps[:] = [step]
    line = line_of(*ASK, *CHOICES)
    assert message in line and "--model embedded" in line


def test_one_line_a_failure_and_nothing_on_standard_output(home: Home) -> None:
    result = geb(*ASK, "--choice", "one", "--json")
    assert list(json.loads(result.stdout)) == ["error"]
