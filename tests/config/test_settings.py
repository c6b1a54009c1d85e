from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braid.config.backup import settings_file
from braid.config.models import models_of, prompts_of
from braid.config.settings import Settings, load_settings, settings_table
from braid.core.errors import InvalidInputError
from braid.core.models.prompts import Prompts

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_toml(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def message(**kwargs: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        load_settings(**kwargs)
    return str(caught.value)


def test_defaults(tmp_path: Path) -> None:
    settings = load_settings(env={})
    assert settings.data_dir == tmp_path / "data"
    assert settings.shared_dbs == tmp_path / "shared_dbs.json"
    assert (settings.host, settings.port, settings.mode, settings.alpha) == ("127.0.0.1", 8000, "hybrid", 0.7)
    assert settings.languages == ("en",)


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_settings(env={}).port = 1  # type: ignore[misc]


def test_later_sources_win(tmp_path: Path) -> None:
    write_toml(tmp_path / "braid.toml", "port = 1001\nk = 11\nalpha = 1\n")
    settings = load_settings(env={"BRAID_K": "12", "BRAID_MODE": "keyword"}, mode="semantic", host=None)
    assert (settings.port, settings.k, settings.mode, settings.host) == (1001, 12, "semantic", "127.0.0.1")
    assert settings.alpha == 1.0
    assert isinstance(settings.alpha, float)


def test_every_setting_can_be_set_by_environment() -> None:
    env = {
        "BRAID_DATABASE_URL": "sqlite:///x.db",
        "BRAID_HOST": "0.0.0.0",
        "BRAID_PORT": " 9000 ",
        "BRAID_EMBEDDING_MODEL": "openai:text-embedding-3-small",
        "BRAID_EMBEDDING_THREADS": "2",
        "BRAID_CHROMA_URL": "http://localhost:8001",
        "BRAID_LEG_TIMEOUT_S": "2.5",
        "BRAID_LANGUAGES": "en, de",
        "BRAID_LOG_LEVEL": "DEBUG",
        "PATH": "/bin",
        "BRAIDED": "not ours",
    }
    settings = load_settings(env=env)
    assert (settings.port, settings.leg_timeout_s, settings.languages) == (9000, 2.5, ("en", "de"))
    assert load_settings(env={"BRAID_LANGUAGES": ""}).languages == ()


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("On", True), ("no", False), ("0", False)])
def test_switches_are_read_as_people_write_them(text: str, value: bool) -> None:
    assert load_settings(env={"BRAID_ALLOW_PRIVATE_URLS": text}).allow_private_urls is value


def test_parameters_of_strategies_are_tables_or_one_text(tmp_path: Path) -> None:
    assert load_settings(env={}).strategies == {}
    text = "leg_depth = 100\nreranker_depth = 10\n[strategies.hyde]\nfeedback_passages = 5\nfeedback_weight = 0.5\n"
    write_toml(tmp_path / "braid.toml", text + "[strategies.multi_query]\nvariants = 4\n")
    read = load_settings(env={})
    assert (read.leg_depth, read.reranker_depth) == (100, 10)
    assert read.strategies == {"hyde": {"feedback_passages": 5, "feedback_weight": 0.5}, "multi_query": {"variants": 4}}
    assert isinstance(read.strategies["hyde"]["feedback_passages"], int)
    as_text = "hyde.feedback_passages=5, hyde.feedback_weight=0.5,multi_query.variants = 4"
    assert load_settings(env={"BRAID_STRATEGIES": as_text}).strategies == read.strategies
    assert load_settings(env={"BRAID_STRATEGIES": ""}).strategies == {}


def test_settings_in_a_backup_are_read_as_they_were(tmp_path: Path) -> None:
    changed = {"strategies": {"hyde": {"feedback_passages": 5, "feedback_weight": 0.5}}, "languages": ("en", "de")}
    settings = load_settings(env={}, **changed, port=8123, metrics_tokens=("a-token-of-24-characters",))
    paths = {name: str(getattr(settings, name)) for name in ("data_dir", "shared_dbs", "custom_prompts")}
    file = write_toml(tmp_path / "restored.toml", settings_file(settings, with_keys=True, paths=paths))
    assert load_settings(env={}, toml_path=file) == settings
    assert settings_file(Settings(), with_keys=True, paths={}) == "", "what is the default is left out"


def test_relative_paths_start_where_they_were_written(tmp_path: Path) -> None:
    toml = write_toml(tmp_path / "etc" / "my.toml", 'data_dir = "d"\nshared_dbs = "/srv/shared.json"\n')
    settings = load_settings(env={"BRAID_CONFIG": "etc/my.toml"})
    assert settings.data_dir == tmp_path / "etc" / "d"
    assert settings.shared_dbs == Path("/srv/shared.json")
    assert load_settings(env={"BRAID_DATA_DIR": "e"}, toml_path=toml).data_dir == tmp_path / "e"
    assert load_settings(env={}, data_dir=Path("o")).data_dir == tmp_path / "o"


def test_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert load_settings(env={"BRAID_DATA_DIR": "~/braid"}).data_dir == Path("/home/ada/braid")


def test_toml_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    write_toml(tmp_path / "braid.toml", "\ufeffport = 1001\n")
    assert load_settings(env={}).port == 1001


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("BRAID_PORT", "0", "from 1 to 65535"),
        ("BRAID_PORT", "65536", "from 1 to 65535"),
        ("BRAID_PORT", "http", "a whole number"),
        ("BRAID_PORT", "", "a whole number"),
        ("BRAID_K", "2.5", "a whole number"),
        ("BRAID_LEG_TIMEOUT_S", "0", "from 0.01"),
        ("BRAID_LEG_TIMEOUT_S", "-1", "from 0.01"),
        ("BRAID_LEG_TIMEOUT_S", "inf", "from 0.01"),
        ("BRAID_ALPHA", "1.1", "from 0 to 1"),
        ("BRAID_ALPHA", "nan", "from 0 to 1"),
        ("BRAID_MODE", "fuzzy", "one of semantic, keyword, hybrid"),
        ("BRAID_FUSION", "sum", "one of auto, rrf, weighted"),
        ("BRAID_LANGUAGES", "en,,de", "language codes"),
        ("BRAID_LANGUAGES", "English", "language codes"),
        ("BRAID_CHUNK_CHARS", "10", "from 100"),
        ("BRAID_HOST", "", "a host name"),
        ("BRAID_EMBEDDING_MODEL", "", "the name of a model"),
        ("BRAID_DATA_DIR", "  ", "a path"),
        ("BRAID_CHROMA_URL", "localhost:8001", "a URL such as"),
        ("BRAID_LOG_LEVEL", "LOUD", "one of DEBUG"),
        ("BRAID_ALLOW_PRIVATE_URLS", "maybe", "true or false"),
        ("BRAID_STRATEGIES", "hyde", "tables of numbers such as `[strategies.hyde]` with `feedback_passages = 5`"),
        ("BRAID_STRATEGIES", "hyde.feedback_passages=many", "tables of numbers"),
        ("BRAID_LEG_DEPTH", "1001", "from 0 to 1000"),
        ("BRAID_RERANKER_DEPTH", "-1", "from 0 to 1000"),
    ],
)
def test_a_wrong_value_is_named_with_its_origin_and_remedy(variable: str, text: str, expected: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_settings(env={variable: text})
    name = variable.removeprefix("BRAID_").lower()
    assert caught.value.field == name
    told = str(caught.value)
    assert told.startswith(f"{name} is ")
    assert f"environment variable {variable}" in told
    assert expected in told


@pytest.mark.parametrize(
    "line",
    [
        'port = "8000"',
        "port = true",
        "port = 8000.0",
        "alpha = true",
        "mode = 1",
        "data_dir = 1",
        'languages = "en"',
        "languages = [1]",
        'host = "a\\u0000b"',
        'data_dir = "a\\u0000b"',
        "k = 1979-05-27",
        "[port]\na = 1",
        "[strategies]\nhyde = 5",
        "[strategies.hyde]\nfeedback_passages = true",
        '[strategies.hyde]\nfeedback_passages = "5"',
    ],
)
def test_a_wrong_type_in_toml_is_named_with_the_file(tmp_path: Path, line: str) -> None:
    toml = write_toml(tmp_path / "braid.toml", line)
    assert f"({toml}); it must be" in message(env={})


def test_a_wrong_value_counts_also_when_overridden(tmp_path: Path) -> None:
    write_toml(tmp_path / "braid.toml", "port = 0")
    assert "braid.toml" in message(env={"BRAID_PORT": "8000"})


def test_overlap_must_be_below_the_chunk_size() -> None:
    told = message(env={"BRAID_CHUNK_CHARS": "100"}, chunk_overlap_chars=100)
    assert "chunk_overlap_chars is 100 (argument)" in told
    assert "environment variable BRAID_CHUNK_CHARS" in told


def test_unknown_settings_are_rejected_wherever_they_stand(tmp_path: Path) -> None:
    assert "did you mean BRAID_PORT?" in message(env={"BRAID_PROT": "8000"})
    assert "BRAID_port (environment) is not read; write BRAID_PORT" in message(env={"BRAID_port": "8000"})
    assert "braid_config (environment) is not read; write BRAID_CONFIG" in message(env={"braid_config": "a.toml"})
    assert load_settings(env={"braidport": "8000", "braid_home": "x", "Braid": "y"}).port == 8000
    assert "prot (argument) is not a setting; did you mean port?" in message(env={}, prot=1)
    toml = write_toml(tmp_path / "braid.toml", "[search]\nk = 3")
    assert f"search ({toml}) is not a setting" in message(env={})


@pytest.mark.parametrize(("name", "value"), [("dense_search", '"chroma"'), ("dense_memory_mb", "2048")])
def test_a_setting_of_the_last_version_is_refused_with_what_is_true_instead(
    name: str, value: str, tmp_path: Path
) -> None:
    toml = write_toml(tmp_path / "braid.toml", f"{name} = {value}")
    for told in (message(env={f"BRAID_{name.upper()}": value}), message(env={}, toml_path=toml)):
        assert "is not a setting any more: vectors are " in told
        assert told.endswith("; remove it")


def test_the_value_of_an_unknown_variable_is_not_repeated() -> None:
    assert "hunter2" not in message(env={"BRAID_DATABASE_URI": "postgresql://u:hunter2@h/db"})


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    assert "No such file" in message(env={"BRAID_CONFIG": "absent.toml"})
    assert "Is a directory" in message(env={}, toml_path=tmp_path)
    assert "not valid TOML" in message(env={}, toml_path=write_toml(tmp_path / "a.toml", "port = \n"))
    (tmp_path / "b.toml").write_bytes(b"host = '\xff'")
    assert "not UTF-8 (byte 8)" in message(env={}, toml_path=tmp_path / "b.toml")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ada:hunter2@db/braid",
        "postgresql://ada:a/b@hunter2@db/braid",
        "postgresql://:hunter2@db/braid",
        "postgresql://db/braid?user=ada&password=hunter2&sslmode=require",
    ],
)
def test_passwords_are_masked(url: str) -> None:
    settings = load_settings(env={"BRAID_DATABASE_URL": url})
    assert settings.database_url == url
    assert "hunter2" not in repr(settings)
    assert "db/braid" in repr(settings)


def test_passwords_are_masked_in_messages(tmp_path: Path) -> None:
    assert "hunter2" not in message(env={"BRAID_DATABASE_URL": "ada:hunter2@db"})
    assert "hunter2" not in message(env={"BRAID_CHROMA_URL": "ftp://ada:hunter2@db"})
    assert "hunter2" not in message(env={"BRAID_FILES_URL": "s3://ada:hunter2@files"})
    write_toml(tmp_path / "braid.toml", 'database_url = ["postgresql://ada:hunter2@db"]')
    assert "hunter2" not in message(env={})


def test_repr_shows_every_setting() -> None:
    shown = repr(load_settings(env={}))
    assert all(f"{f.name}=" in shown for f in dataclasses.fields(Settings))


VARIABLES = st.sampled_from([f"BRAID_{f.name.upper()}" for f in dataclasses.fields(Settings)])


@given(st.dictionaries(VARIABLES, st.text(max_size=40), max_size=5))
def test_any_environment_gives_settings_or_an_invalid_input_error(env: dict[str, str]) -> None:
    try:
        settings = load_settings(env=env)
    except InvalidInputError:
        return
    assert 1 <= settings.port <= 65535
    assert settings.chunk_overlap_chars < settings.chunk_chars


def test_the_documented_table_is_the_one_in_the_code() -> None:
    assert settings_table() in DOCS.read_text(encoding="utf-8"), (
        "docs/settings.md is out of date; put the output of `python -m braid.config.settings` there"
    )


def test_models_by_role(tmp_path: Path) -> None:
    nothing = models_of(load_settings(env={}))
    assert (nothing.search, nothing.summary) == (None, None)
    models = models_of(
        load_settings(env={"BRAID_SEARCH_MODEL": "ollama:qwen3", "BRAID_SUMMARY_MODEL": "openai:gpt-4.1"})
    )
    assert models.search is not None
    assert models.summary is not None
    assert (models.search.name, models.summary.name) == ("ollama:qwen3", "openai:gpt-4.1")
    assert "search_model is 'gpt'" in message(env={"BRAID_SEARCH_MODEL": "gpt"})


def test_the_old_setting_still_stands_for_both_roles() -> None:
    with pytest.warns(DeprecationWarning, match="llm_model .* is deprecated; set search_model and summary_model"):
        old = load_settings(env={"BRAID_LLM_MODEL": "openai:old"})
    models = models_of(old)
    assert models.search is not None
    assert models.summary is not None
    assert (models.search.name, models.summary.name) == ("openai:old", "openai:old")
    with pytest.warns(DeprecationWarning, match="llm_model"):
        both = load_settings(env={"BRAID_LLM_MODEL": "openai:old", "BRAID_SEARCH_MODEL": "openai:new"})
    assert models_of(both).search is not None
    assert models_of(both).search.name == "openai:new"  # type: ignore[union-attr]


def test_keys_are_masked() -> None:
    settings = load_settings(env={"BRAID_SEARCH_MODEL_API_KEY": "very-secret-1", "BRAID_SUMMARY_MODEL_API_KEY": "s-2"})
    assert settings.search_model_api_key == "very-secret-1"
    assert "very-secret-1" not in repr(settings)
    assert "s-2" not in repr(settings)
    assert "very secret" not in message(env={"BRAID_SEARCH_MODEL_API_KEY": "very secret"})


@pytest.mark.parametrize("given", ["k" * 32, "postgresql://secret@looks/like/a/url", "base64:" + "A" * 43 + "="])
def test_a_secret_is_taken_and_never_shown(given: str) -> None:
    settings = load_settings(env={"BRAID_SECRET_KEY": given})
    assert settings.secret_key == given
    assert given not in repr(settings)
    assert given not in settings_file(settings, with_keys=False, paths={})
    assert f'secret_key = "{given}"' in settings_file(settings, with_keys=True, paths={})


@pytest.mark.parametrize(
    "given", ["k" * 31, "at least 32 characters of your own", "base64:c2hvcnQ=", "base64:" + "k" * 45]
)
def test_a_secret_that_can_be_guessed_is_refused_without_showing_it(given: str) -> None:
    said = message(env={"BRAID_SECRET_KEY": given})
    assert said == (
        "secret_key is '***' (environment variable BRAID_SECRET_KEY); it must be empty or at least 32 characters "
        "without blanks, such as `openssl rand -hex 32` prints"
    )


def test_custom_prompts_file(tmp_path: Path) -> None:
    assert prompts_of(load_settings(env={})) == Prompts()
    write_toml(tmp_path / "prompts.toml", '[hyde]\nsystem = "Write."\n')
    assert prompts_of(load_settings(env={})).hyde.system == "Write."
    with pytest.raises(InvalidInputError, match=r"mine\.toml cannot be read"):
        prompts_of(load_settings(env={"BRAID_CUSTOM_PROMPTS": "mine.toml"}))
    write_toml(tmp_path / "mine.toml", '[hyde]\nuser = "{query}"\n')
    with pytest.raises(InvalidInputError, match=r"'hyde' has the placeholder \{query\}; it may have \{question\}"):
        prompts_of(load_settings(env={"BRAID_CUSTOM_PROMPTS": "mine.toml"}))


@pytest.mark.parametrize(
    "host", ["braid.example.org:8974", "127.0.0.1:80", "[::1]:80", "https://braid.example.org", "*"]
)
def test_a_host_that_nobody_would_get_in_by_is_refused(host: str) -> None:
    said = message(env={"BRAID_ALLOWED_HOSTS": host})
    assert host in said
    assert "host names or addresses without a port, such as braid.example.org" in said


def test_hosts_are_names_and_addresses() -> None:
    hosts = ("braid.example.org", "box", "10.0.0.7", "[::1]", "::1", "fe80::1", "[2001:db8::7]", "::ffff:10.0.0.7")
    assert load_settings(env={"BRAID_ALLOWED_HOSTS": ",".join(hosts)}).allowed_hosts == hosts
