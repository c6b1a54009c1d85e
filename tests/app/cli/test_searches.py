"""Commands that search, in this process and in real ones."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import braid
from braid.core.text.token_budget import estimate_tokens
from tests.app.cli.processes import REPOSITORY, CommandLine, finished
from tests.forked_children import in_earnest
from tests.model_server import model_server
from tests.rerank_server import rerank_server
from tests.worlds import WAIT_S, eventually, write

# ---------------------------------------------------------------- with the indexes


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A data directory with documents in two datasets, indexed by the default model."""
    run = CommandLine(tmp_path_factory.mktemp("filled"))
    run("user", "add", "ann")
    run("dataset", "add", "Manuals")
    run("shared-db", "add", "Handbook", "--collection", "shared_handbook")
    manuals = {
        "reset.md": "# Controller\n\n## Reset\n\nHold the red button for ten seconds to reset the controller.\n",
        "pdf.ja.md": "# 文書\n\n暗号化された PDF は読めません。パスワードを外してください。\n",
        "battery.txt": "The battery lasts for two years.\n",
    }
    os.utime(write(run.folder / "manuals", manuals) / "battery.txt", (1_000_000_000, 1_000_000_000))
    report = run.json("ingest", run.folder / "manuals", "--dataset", 1, "--relative")
    assert (report["put"], report["indexed"]) == (3, True)
    handbook = write(run.folder / "handbook", {"rules.md": "# Rules\n\nDogs are welcome in the office on Fridays.\n"})
    run("ingest", handbook, "--dataset", -1, "--relative")
    return run


def found(result: dict[str, Any]) -> list[str]:
    return [hit["passage"]["source"] for hit in result["hits"]]


@pytest.mark.parametrize(
    ("text", "args", "first"),
    [
        ("how do I reset the controller", (), "reset.md"),
        ("PDF のパスワード", ("--mode", "keyword"), "pdf.ja.md"),
        ("pets at work", ("--mode", "semantic", "--dataset", "1", "--dataset", "-1"), "rules.md"),
        ("pets at work", ("--mode", "semantic", "--dataset", "all"), "rules.md"),
        ("dogs", ("--dataset", "-1", "--fusion", "weighted", "--alpha", "0.2", "--pooling", "none"), "rules.md"),
        ("reset", ("--file-type", "txt"), "battery.txt"),
        ("reset", ("--file-type", "jira"), None),  # a label that no document has
        ("battery", ("--source-prefix", "re"), "reset.md"),
        ("battery", ("--since", "1d", "--mode", "keyword"), None),
        ("reset", ("--until", "2001-12-31"), "battery.txt"),
        ("reset", ("--filter", "file_type=txt"), "battery.txt"),
        ("reset", ("--filter", "!author", "--filter", '{"source": {"$in": ["battery.txt"]}}'), "battery.txt"),
        ("battery", ("--filter", "file_type!=txt", "--mode", "keyword"), None),
        ("reset", ("--filter", "year>=2024"), None),
        ("reset", ("--chunk-kind", "function", "--chunk-kind", "method"), None),
    ],
)
def test_search(filled: CommandLine, text: str, args: tuple[str, ...], first: str | None) -> None:
    result = filled.json("search", text, *args)
    assert found(result)[:1] == ([first] if first else [])
    assert result["degraded"] == []


def test_one_result_per_document(filled: CommandLine) -> None:
    assert found(filled.json("search", "the controller", "--group-by", "document")) == list(
        dict.fromkeys(found(filled.json("search", "the controller", "-k", 10)))
    )


def test_parameters_and_depths_of_a_search(filled: CommandLine) -> None:
    options = ("--strategy", "hyde", "--parameter", "feedback_passages=5", "--leg-depth", 100, "--reranker-depth", 10)
    query = filled.json("search", "reset", *options)["query"]
    assert query["parameters"] == {"feedback_passages": 5, "feedback_weight": 0.2}
    assert (query["leg_depth"], query["reranker_depth"]) == (100, 10)


def test_search_for_people(filled: CommandLine) -> None:
    result = filled("search", "reset the controller", "-k", 1)
    heading, source, place, score, text, *_ = result.stdout.splitlines()
    assert heading == "[1] Controller › Controller > Reset"
    assert re.fullmatch(r" {4}reset\.md, lines? \d+(–\d+)?", source)
    assert re.fullmatch(r" {4}dataset 1, chunk [0-9a-f]{32}", place)
    assert re.fullmatch(r" {4}score \d\.\d{4} = dense #1 \(0\.\d+\) \d\.\d+ \+ bm25 #1 \(\d\.\d+\) \d\.\d+", score)
    assert text.strip().startswith("Hold the red button")
    assert "1 of k=1, hybrid, basic" in result.stderr
    assert re.search(
        r"\d from dataset -1, \d from dataset 1|\d from dataset 1, \d from dataset -1",
        filled("search", "dogs reset", "--dataset", "all").stderr,
    )


def test_chat_answers_and_continues(filled: CommandLine) -> None:
    first = filled("chat", "how do I reset the controller")
    assert "Hold the red button" in first.stdout
    assert "[1] Controller" in first.stdout
    assert "conversation 1" in first.stderr
    answer = filled.json("chat", "how do I do it?", "--continue", 1)
    assert answer["conversation"] == 1
    assert "controller" in answer["query"]
    assert answer["query_generator"] == "feedback"
    assert "there is no conversation 9" in filled("chat", "it", "--continue", 9, status=2).stderr


def test_chat_says_what_was_not_searched(run: CommandLine, dataset: int) -> None:
    asked = run("chat", "how do I reset the controller")
    assert asked.stdout.startswith("There is nothing to search yet.")  # and not that nothing was found
    assert "no dataset with id 9 is open to this user" in run("chat", "reset", "--dataset", 9, status=2).stderr
    some = run("chat", "reset", "--dataset", dataset, "--dataset", 9)
    assert "error: dataset 9 is not open to this user; the others were searched" in some.stderr
    run("dataset", "remove", dataset, "--yes")
    assert "this user has no dataset to search" in run("chat", "reset").stderr


def test_chat_asks_the_model_within_the_setting(run: CommandLine, dataset: int, tmp_path: Path) -> None:
    parts = {name: [f"Controller {name} has part {n} behind its cover." for n in range(75)] for name in "abcd"}
    files = write(tmp_path / "in", {f"{name}.txt": " ".join(texts) for name, texts in parts.items()})
    run("ingest", files, "--dataset", dataset)
    with model_server("Behind the cover [1].") as server:
        run.env |= {
            "BRAID_SUMMARY_MODEL": "openai:good",
            "BRAID_SUMMARY_MODEL_BASE_URL": server.url,
            "BRAID_ANSWER_PROMPT_TOKENS": "1000",
        }
        result = run("chat", "where is part 7 of the controller", "-k", 40)
        assert "Behind the cover [1]." in result.stdout
        note = r"note: the last \d+ of \d+ passages do not fit .* answer_prompt_tokens \(1000\)"
        assert re.search(note, result.stderr)
        assert sum(estimate_tokens(text) for _, text in server.calls[0].messages) <= 1_000


def test_nothing_found_is_no_error(filled: CommandLine) -> None:
    assert filled("search", "xylophone", "--mode", "keyword").stdout == "Nothing was found.\n"


def test_unknown_datasets_among_known_ones_are_said(filled: CommandLine) -> None:
    result = filled("search", "reset", "--dataset", 1, "--dataset", 99, "--json", status=1)
    assert found(json.loads(result.stdout))
    assert "error: dataset 99 is not open to this user" in result.stderr


def test_explain(filled: CommandLine) -> None:
    by_source = filled.json("explain", "reset the controller", "reset.md")
    assert (by_source["found"], by_source["rank"]) == (True, 1)
    assert filled.json("explain", "reset the controller", by_source["chunk_id"]) == by_source
    text = filled("explain", "reset the controller", "battery.txt", "-k", 1).stdout
    assert text.startswith("Not in the result (cut by k).")
    assert filled.json("explain", "reset", "rules.md", "--dataset", -1)["found"] is True
    assert "neither a chunk id nor the source" in filled("explain", "reset", "rules.md", status=2).stderr


def test_doctor(filled: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("braid.app.cli.progress.SECONDS_BETWEEN_LINES", 0)
    whole = filled("doctor")
    assert whole.stdout == "Ledger and indexes agree.\n"
    assert re.search(r"^Collections: 1 of \d$", whole.stderr, re.MULTILINE), "in a pipe, too"
    with closing(sqlite3.connect(filled.data_dir / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE datasets SET documents = 99 WHERE id = 1")
    assert [finding["problem"] for finding in filled.json("doctor", status=1)["left"]] == ["counter"]
    assert re.search(r"counter .*99 documents", filled("doctor", status=1).stdout)
    assert "After the repair, 0 differences left." in filled("doctor", "--repair").stdout
    found = filled.json("doctor")
    assert found.pop("chroma_bytes") > 0
    assert found == {"findings": [], "left": []}
    quiet = filled("doctor", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_without_an_embedding_model_keywords_work_and_the_rest_is_said(
    run: CommandLine, dataset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braid.app.cli.progress.PATIENCE_S", 0.2)
    run.env["BRAID_EMBEDDING_MODEL"] = "nobody:nothing"
    files = write(run.folder / "files", {"a.md": "zebra"})
    result = run("ingest", files, "--dataset", dataset, "--relative", "--json", status=1)
    assert (json.loads(result.stdout)["put"], json.loads(result.stdout)["indexed"]) == (1, False)
    assert "stored, but not completely indexed (Embedding: the embedding model 'nobody:nothing'" in result.stderr
    result = run("search", "zebra", "--json")
    assert found(json.loads(result.stdout)) == ["a.md"]
    assert result.stderr.startswith("degraded: dense")
    assert run("search", "xylophone", status=1).stdout == "Nothing was found.\n"


def test_eval(run: CommandLine, tmp_path: Path) -> None:
    judged = tmp_path / "tiny"
    texts = {"d1": "zebra stripes", "d2": "violin strings"}
    corpus = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items()]
    queries = [json.dumps({"_id": f"q{key}", "text": text.split()[0]}) for key, text in texts.items()]
    qrels = ["query-id\tcorpus-id\tscore", *(f"q{key}\t{key}\t1" for key in texts)]
    write(
        judged, {"corpus.jsonl": "\n".join(corpus), "queries.jsonl": "\n".join(queries), "qrels.tsv": "\n".join(qrels)}
    )
    report = run.json("eval", judged, "--mode", "keyword", "--plot", tmp_path / "plot.png")
    assert report["sets"]["tiny"]["ndcg@10"] == report["all"]["ndcg@10"] == 1.0
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    table = run("eval", judged, "--mode", "keyword", "--each").stdout
    assert re.search(r"^tiny +1\.000", table, re.MULTILINE)


# ---------------------------------------------------------------- processes


def test_help_answers(run: CommandLine) -> None:
    with in_earnest():
        status, out, err = finished(run.process("--help"))
    assert (status, err) == (0, "")
    assert "ingest" in out


def test_what_reads_the_ledger_alone_loads_nothing_heavy(run: CommandLine, dataset: int) -> None:
    heavy = ("numpy", "chromadb", "faiss", "tantivy", "langchain_core", "onnxruntime", "flask", "alembic", "httpx")
    commands = (
        "user list",
        "user tokens 1",
        "dataset list --user 1",
        "shared-db list",
        "db status",
        "retention",
        "audit",
    )
    code = f"""
import sys
from braid.app.cli.root import cli
for command in {commands!r}:
    try:
        cli.main(["--data-dir", sys.argv[1], *command.split()])
    except SystemExit as ended:
        assert not ended.code, command
print([name for name in {heavy!r} if name in sys.modules])
"""
    told = subprocess.check_output([sys.executable, "-c", code, str(run.data_dir)], cwd=REPOSITORY, text=True)
    assert told.splitlines()[-1] == "[]"


def test_help_loads_little() -> None:
    heavy = ("langchain_core", "chromadb", "tantivy", "sqlalchemy", "numpy", "flask", "rich")
    code = f"import sys; import braid.app.cli.root; print(len(sys.modules), [m for m in {heavy!r} if m in sys.modules])"
    told = subprocess.check_output([sys.executable, "-c", code], cwd=REPOSITORY, text=True)
    loaded, found = told.strip().split(" ", 1)
    assert found == "[]"
    assert int(loaded) < 300, "about 200, most of them Python's own and click's"


def test_the_data_directory_before_and_after_the_command(run: CommandLine, tmp_path: Path) -> None:
    run.json("user", "add", "ann", "--data-dir", tmp_path / "x")
    assert not run.data_dir.exists()
    run.data_dir = tmp_path / "x"
    assert [user["name"] for user in run.json("user", "list")] == ["ann"]
    run.json("user", "--data-dir", tmp_path / "y", "add", "ben")
    assert [user["name"] for user in run.json("user", "--data-dir", tmp_path / "y", "list")] == ["ben"]


def test_a_real_search_prints_json_alone(filled: CommandLine) -> None:
    with in_earnest():
        status, out, err = finished(filled.process("search", "reset", "--json"))
    assert status == 0
    assert found(json.loads(out))[0] == "reset.md"
    assert err == ""


def test_a_failure_is_json_too_for_who_asked_for_json(run: CommandLine) -> None:
    run.json("user", "add", "ann")
    for arguments, kind, words in (
        (("search", "pump", "--dataset", 7, "--json"), "NotFoundError", "no dataset with id 7 is open to this user"),
        (("search", "pump", "--json", "--depth", "9"), "NoSuchOption", "No such option '--depth'"),
    ):
        status, out, err = finished(run.process(*arguments))
        error = json.loads(out)["error"]
        assert (status, error["status"], error["type"]) == (2, 2, kind)
        assert words in error["message"]
        assert error["message"] in err


def test_a_search_without_any_dataset_says_so(run: CommandLine) -> None:
    run("user", "add", "ann")
    status, out, err = finished(run.process("search", "pump", "--json"))
    assert status == 0
    assert json.loads(out)["hits"] == []
    assert any("no dataset to search" in note for note in json.loads(out)["notes"])
    assert "note: this user has no dataset to search: add one (dataset add NAME)" in err
    run.json("dataset", "add", "Notes")
    assert json.loads(finished(run.process("search", "pump", "--json"))[1])["notes"] == []


def test_the_version_is_printed(run: CommandLine) -> None:
    assert finished(run.process("--version")) == (0, f"braid {braid.__version__}\n", "")


def test_wrong_use_of_a_real_process(run: CommandLine) -> None:
    status, out, err = finished(run.process("ingest", "docs"))
    assert (status, out) == (2, "")
    assert err == "error: Missing option '--dataset'. (python -m app ingest --help)\n"


def test_a_reader_that_goes_away_hears_no_complaint(run: CommandLine) -> None:
    with in_earnest(), run.process("--help") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


def test_control_c_while_embedding_loses_nothing(run: CommandLine, dataset: int) -> None:
    files = write(run.folder / "many", {f"{n}.txt": f"Note {n}. A sentence about things." for n in range(30)})
    with model_server() as server:
        server.embeddings.delay_s = WAIT_S  # nothing is embedded before the process is told to end
        run.env |= {
            "BRAID_EMBEDDING_MODEL": "openai:text-embedding-3-small",
            "BRAID_EMBEDDING_BASE_URL": server.url,
            "BRAID_EMBEDDING_API_KEY": "none",
        }
        with run.process("ingest", files, "--dataset", dataset, "--relative") as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("30 files stored")
            eventually(lambda: server.embedding_calls)
            process.send_signal(signal.SIGINT)
            server.embeddings.delay_s = 0.0  # the batch that runs is waited for
            _, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "everything is stored; indexing and embedding continue at the next start" in err
    assert "Traceback" not in err
    assert run.json("dataset", "list")[0]["documents"] == 30


def test_models_are_tested_by_known_passages(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run.json("models")
    assert [(each["role"], each["language"]) for each in told] == [("embedding", code) for code in ("en", "ja", "ko")]
    assert all(each["right"] > each["wrong"] for each in told)
    with rerank_server() as server:
        monkeypatch.setenv("BRAID_RERANKER_BASE_URL", server.url)
        server.results = [{"index": place, "relevance_score": place} for place in range(3)]  # the right one is the last
        failed = run("models", "--reranker", "jina:m", status=1)
        assert "a wrong passage is first in en, ja, ko" in failed.stderr
        assert failed.stdout.count("reranker ") == 3
        server.status = 401
        assert "check the key, reranker_api_key" in run("models", "--reranker", "jina:m", status=1).stderr
    assert "write one of cohere:MODEL" in run("models", "--reranker", "nothing", status=2).stderr
    assert not run.data_dir.exists()
