"""Statements with constant text, which the database prepares once; to build one takes SQLAlchemy milliseconds.

In the texts, ``:name`` is a parameter and ``IN :name`` takes any number of values in one parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache

SINGLE = (str, int, float, bytes, type(None))
Value = str | int | float | bytes | None | Collection[str] | Collection[int] | Collection[float]

# ---------------------------------------------------------------- users and datasets

USER = """
    SELECT u.name, g.group_name FROM users u LEFT JOIN user_groups g ON g.user_id = u.id WHERE u.id = :user_id"""
# What every request of somebody who is signed in asks.
ACCOUNT = """
    SELECT u.name, u.is_admin, u.disabled, u.password_hash <> '', u.preferences, u.waiting, u.signed_in_at,
        u.invited_at, g.group_name
    FROM users u LEFT JOIN user_groups g ON g.user_id = u.id WHERE u.id = :user_id"""
USER_NAMED = "SELECT id FROM users WHERE name = :name"
WITH_PASSWORD = "SELECT id FROM users WHERE password_hash <> '' LIMIT 1"
SECOND_FACTOR = "SELECT user_id FROM second_factors WHERE user_id = :user_id AND confirmed"
WEB_SESSION = "SELECT id, user_id, user_agent, created_at, seen_at FROM web_sessions WHERE token_hash = :token_hash"
OPEN_SESSION = """
    INSERT INTO web_sessions (user_id, token_hash, user_agent, created_at, seen_at)
    VALUES (:user_id, :token_hash, :user_agent, :now, :now)"""
SIGNED_IN = "UPDATE users SET signed_in_at = :now WHERE id = :user_id"
END_OLDEST_SESSIONS = """
    DELETE FROM web_sessions WHERE user_id = :user_id AND id NOT IN
    (SELECT id FROM web_sessions WHERE user_id = :user_id ORDER BY seen_at DESC, id DESC LIMIT :most)"""
ADD_ACT = """
    INSERT INTO audit_log (at, actor, action, target, detail) VALUES (:at, :actor, :action, :target, :detail)"""

_DATASETS = """
    SELECT id, name, collection, user_id, documents, chunks, conversation_id FROM datasets WHERE removed_at IS NULL"""
DATASETS_OF_USER = f"{_DATASETS} AND user_id = :user_id AND conversation_id IS NULL ORDER BY id"
ATTACHED_DATASETS = f"""{_DATASETS} AND user_id = :user_id AND conversation_id IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM conversations WHERE conversations.id = conversation_id AND deleted_at IS NOT NULL) ORDER BY id"""
DATASETS_IN_COLLECTIONS = f"{_DATASETS} AND collection IN :collections ORDER BY id"
_SHARES_OF_USER = """
    SELECT s.dataset_id FROM shares s LEFT JOIN user_groups g ON g.group_name = s.group_name AND g.user_id = :user_id
    WHERE (s.user_id = :user_id OR g.user_id IS NOT NULL)"""
SHARED_WITH_USER = f"""{_DATASETS} AND user_id <> :user_id AND conversation_id IS NULL AND id IN ({_SHARES_OF_USER})
    ORDER BY id"""
CHANGED_BY_USER = f"{_SHARES_OF_USER} AND s.may_write AND s.dataset_id IS NOT NULL"
DATASET = f"{_DATASETS} AND id = :dataset_id"
ALL_DATASETS = f"{_DATASETS} ORDER BY id"

# ---------------------------------------------------------------- settings, and what processes share

APP_SETTING = "SELECT value FROM app_settings WHERE name = :name"
ADD_APP_SETTING = "INSERT INTO app_settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING"
SET_APP_SETTING = """
    INSERT INTO app_settings (name, value) VALUES (:name, :value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value"""

# Every process asks these when it opens the ledger: the first statement that SQLAlchemy builds takes 0.1 s.
MIRRORED = "SELECT id, name, collection FROM datasets WHERE id < 0"
RETIRED = "SELECT id FROM datasets WHERE id < 0 AND removed_at IS NOT NULL"
ACTIVITY = """
    SELECT (SELECT MAX(updated_at) FROM documents), (SELECT MAX(created_at) FROM jobs),
        (SELECT MAX(finished_at) FROM jobs), (SELECT MAX(at) FROM audit_log)"""
IS_USED = "SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM documents)"

SHARED_LIST_VERSION = "SELECT version FROM shared_list"
SHARED_LIST = "SELECT text, version FROM shared_list"
LOCK_SHARED_LIST = f"{SHARED_LIST_VERSION} FOR UPDATE"
ADD_SHARED_LIST = """
    INSERT INTO shared_list (id, text, version) VALUES (1, :text, :version)
    ON CONFLICT (id) DO UPDATE SET text = excluded.text, version = excluded.version
    WHERE shared_list.version = :made_empty AND excluded.version <> :made_empty"""
SET_SHARED_LIST = """
    INSERT INTO shared_list (id, text, version) VALUES (1, :text, 1)
    ON CONFLICT (id) DO UPDATE SET text = excluded.text, version = shared_list.version + 1"""

ADD_ATTEMPT_WINDOW = """
    INSERT INTO attempt_windows (key, attempts, ends_at) VALUES (:key, :attempts, 0) ON CONFLICT (key) DO NOTHING"""
# Nothing for a user who was deleted meanwhile.
ADD_USAGE = """
    INSERT INTO usage_counts (day, user_id, kind, count)
    SELECT :day, u.id, :kind, CAST(:times AS INTEGER) FROM users u WHERE u.id = :user_id
    ON CONFLICT (day, user_id, kind) DO UPDATE SET count = usage_counts.count + excluded.count"""
ADD_SHARED_WORK = """
    INSERT INTO shared_work (name, worker, state, seen_at) VALUES (:name, '', '{}', 0) ON CONFLICT (name) DO NOTHING"""

# ---------------------------------------------------------------- passages, under a scope

# A scope is resolved before its datasets are read: one that was deleted since then is in none of these statements.
_OF_DATASETS = "IN (SELECT id FROM datasets WHERE id IN :datasets AND removed_at IS NULL)"
_SELECTED = """
    (:any_type = 1 OR t.file_type IN :file_types)
    AND (:any_source = 1 OR substr(t.source, 1, :prefix_length) = :prefix)
    AND (:any_start = 1 OR t.date >= :date_from) AND (:any_end = 1 OR t.date <= :date_to)"""

_PASSAGES = """
    SELECT c.id, c.document_id, c.dataset_id, d.collection, t.source, t.title, t.file_type, c.heading_path, c.text,
        c.position, c.page, c.page_end, c.line, c.line_end, t.date, t.meta, c.chunk_kind, c.confidence, c.text_hash
    FROM chunks c JOIN documents t ON t.id = c.document_id JOIN datasets d ON d.id = c.dataset_id
    WHERE c.dataset_id + 0 IN :datasets AND d.removed_at IS NULL"""
PASSAGES_OF_DOCUMENT = f"""{_PASSAGES} AND c.document_id = :document_id
    ORDER BY c.position LIMIT :limit OFFSET :offset"""
HEADINGS_OF_DOCUMENT = """
    SELECT c.heading_path, MIN(c.position) FROM chunks c JOIN datasets d ON d.id = c.dataset_id
    WHERE c.dataset_id + 0 IN :datasets AND d.removed_at IS NULL AND c.document_id = :document_id
    GROUP BY c.heading_path ORDER BY 2 LIMIT :limit"""

# Chunks are looked up by their own ids first, whatever the filters: PostgreSQL would begin with the documents where it
# thinks that few of them are selected, and SQLite, without "+ 0", with all chunks of the datasets.
_CHUNKS_FIRST = "WITH found AS MATERIALIZED (SELECT * FROM chunks WHERE id IN :ids)"
_OF_KIND = "(:any_kind = 1 OR c.chunk_kind IN :chunk_kinds)"
PASSAGES = f"{_CHUNKS_FIRST} {_PASSAGES.replace('FROM chunks c', 'FROM found c')} AND {_OF_KIND} AND {_SELECTED}"
# By the index alone, which SQLite would not choose itself; "+ 0" keeps it from looking for each pair of id and hash.
HAVING_HASHES = """
    SELECT id FROM chunks INDEXED BY ix_chunks_id_text_hash WHERE id IN :ids AND text_hash + 0 IN :hashes"""
VISIBLE = f"""
    {_CHUNKS_FIRST} SELECT c.id FROM found c JOIN documents t ON t.id = c.document_id
    WHERE c.dataset_id + 0 {_OF_DATASETS} AND {_OF_KIND} AND {_SELECTED}"""

_MATCHING = f"FROM documents t WHERE t.dataset_id {_OF_DATASETS} AND t.chunks > 0 AND {_SELECTED}"
_MATCHING_PASSAGES = f"""
    FROM documents t JOIN chunks c ON c.document_id = t.id
    WHERE t.dataset_id {_OF_DATASETS} AND {_OF_KIND} AND {_SELECTED}"""
KEYS_THERE = f"""
    SELECT DISTINCT m.key FROM document_metadata m WHERE m.dataset_id {_OF_DATASETS} AND m.key IN :keys"""
MATCHING_DOCUMENTS = f"SELECT t.id {_MATCHING}"
CHUNKS_OF_MATCHING = f"SELECT COALESCE(SUM(t.chunks), 0) {_MATCHING}"
MATCHING_PASSAGES = f"SELECT c.id {_MATCHING_PASSAGES}"
COUNT_OF_PASSAGES = f"SELECT COUNT(*) {_MATCHING_PASSAGES}"
DOCUMENTS_OF_PASSAGES = f"SELECT DISTINCT t.id {_MATCHING_PASSAGES}"

# ---------------------------------------------------------------- the change log and the indexes' states

_ENDS = """
    SELECT n.collection, COALESCE((SELECT {end}(s.seq) FROM changes s WHERE s.collection = n.collection), 0)
    FROM (SELECT DISTINCT collection FROM datasets {condition}) n"""
HEADS = _ENDS.format(end="MAX", condition="")
HEADS_OF_COLLECTIONS = _ENDS.format(end="MAX", condition="WHERE collection IN :collections")
FIRST_SEQS = _ENDS.format(end="MIN", condition="")
CHANGES = "SELECT seq, chunk_id FROM changes WHERE collection = :collection AND seq > :seq ORDER BY seq LIMIT :limit"
PENDING = "SELECT COUNT(*) FROM changes WHERE collection = :collection AND seq > :seq"
# Under no model no chunk has a vector.
LACKING = """
    SELECT COUNT(*) FROM (SELECT DISTINCT chunk_id FROM changes WHERE collection = :collection AND seq > :seq) s
        JOIN chunks c ON c.id = s.chunk_id LEFT JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
    WHERE c.dataset_id IN :datasets AND e.chunk_id IS NULL"""
HAS_CHANGED = """
    SELECT COUNT(*) FROM (SELECT 1 FROM documents WHERE dataset_id IN :datasets AND changed_seq > :seq LIMIT 1) d"""
PENDING_AT_MOST = """
    SELECT COUNT(*) FROM (SELECT 1 FROM changes WHERE collection = :collection AND seq > :seq LIMIT :limit) c"""
CHUNKS_OF_DATASETS = "SELECT COALESCE(SUM(chunks), 0) FROM datasets WHERE id IN :datasets"
NEWEST_CHANGE = "SELECT COALESCE(MAX(seq), 0) FROM changes"
OLDEST_WAITING = """
    SELECT MIN(w.seq)
    FROM (SELECT (SELECT MIN(c.seq) FROM changes c
            WHERE c.collection = n.collection AND c.seq > COALESCE(s.applied_seq, 0)) AS seq
        FROM (SELECT DISTINCT collection FROM datasets) n
            LEFT JOIN index_state s ON s.collection = n.collection AND s.leg = :leg
        WHERE s.state IS NULL OR s.state <> 'rebuilding') w"""
# Small documents first, and of documents of like size each a passage in turn.
UNEMBEDDED_CHANGES = """
    SELECT c.id
    FROM (SELECT DISTINCT chunk_id FROM changes WHERE collection = :collection AND seq > :seq) s
        JOIN chunks c ON c.id = s.chunk_id JOIN documents t ON t.id = c.document_id
        LEFT JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
    WHERE e.chunk_id IS NULL
    ORDER BY t.chunks + c.position, t.id, c.position LIMIT :limit"""
SET_STATE = """
    INSERT INTO index_state (leg, collection, version, applied_seq, state)
    VALUES (:leg, :collection, :version, :applied_seq, :state)
    ON CONFLICT (leg, collection) DO UPDATE
    SET version = excluded.version, applied_seq = excluded.applied_seq, state = excluded.state"""
STATE_NAMES = "SELECT DISTINCT leg FROM index_state"
STATES = "SELECT collection, version, applied_seq, state FROM index_state WHERE leg = :leg"

# ---------------------------------------------------------------- the same in a fleet, whose ledger is in PostgreSQL

_STATE = "s.leg, s.collection, s.version, s.applied_seq, s.state, s.wanted, s.report"
SHARED_STATES = f"SELECT {_STATE} FROM index_state s WHERE s.leg IN :legs"
SHARED_STATES_OF = f"{SHARED_STATES} AND s.collection IN :collections"
STATES_OF_COLLECTIONS = """
    SELECT collection, version, applied_seq, state FROM index_state WHERE leg = :leg AND collection IN :collections"""
ALL_PENDING = """
    SELECT s.collection, COUNT(*) FROM index_state s JOIN changes c ON c.collection = s.collection
    WHERE s.leg = :leg AND c.seq > s.applied_seq GROUP BY s.collection"""
TO_FOLLOW = """
    SELECT n.collection, c.head, s.version, s.applied_seq, s.state, s.wanted, s.report
    FROM (SELECT DISTINCT collection FROM datasets) n
        CROSS JOIN LATERAL (
            SELECT COALESCE(MAX(seq), 0) AS head FROM changes WHERE changes.collection = n.collection) c
        LEFT JOIN index_state s ON s.collection = n.collection AND s.leg = :leg"""
_UNDER_CLAIM = "FROM claims WHERE what = :what AND process = :process FOR SHARE"
SET_STATE_UNDER_CLAIM = f"""
    INSERT INTO index_state (leg, collection, version, applied_seq, state)
    SELECT :leg, :collection, :version, CAST(:applied_seq AS INTEGER), :state {_UNDER_CLAIM}
    ON CONFLICT (leg, collection) DO UPDATE
    SET version = excluded.version, applied_seq = excluded.applied_seq, state = excluded.state"""
# Where there is no state yet, nothing is known of the index.
REPORT_UNDER_CLAIM = f"""
    INSERT INTO index_state (leg, collection, version, applied_seq, state, report)
    SELECT :leg, :collection, :version, 0, 'rebuilding', :report {_UNDER_CLAIM}
    ON CONFLICT (leg, collection) DO UPDATE SET report = excluded.report"""
WANT = """
    UPDATE index_state SET wanted = :wanted
    WHERE leg = :leg AND collection = :collection AND wanted <> :wanted AND wanted <> 'rebuild'"""
WANTED = "SELECT collection, wanted FROM index_state WHERE leg = :leg AND wanted <> ''"
REPORT = "UPDATE index_state SET report = :report WHERE leg = :leg AND collection = :collection"
HEARD = "UPDATE index_state SET wanted = '' WHERE leg = :leg AND collection = :collection AND wanted = :wanted"

# ---------------------------------------------------------------- processes of a fleet

_NOW = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"
JOIN = f"INSERT INTO processes (name, host, works, started_at, seen_at) SELECT :name, :host, :works, {_NOW}, {_NOW}"
BEAT = f"UPDATE processes SET seen_at = {_NOW} WHERE name = :name"
WAIT_BRIEFLY = "SET LOCAL lock_timeout = '1s'"
LEAVE = "DELETE FROM processes WHERE name = :name"
BURY = f"""
    DELETE FROM processes WHERE name IN (
        SELECT name FROM processes WHERE seen_at < {_NOW} - CAST(:lease_s AS DOUBLE PRECISION)
        FOR UPDATE SKIP LOCKED)"""
LIVING = f"""
    SELECT COUNT(*), COALESCE(SUM(CASE WHEN works THEN 1 ELSE 0 END), 0) FROM processes
    WHERE seen_at >= {_NOW} - CAST(:lease_s AS DOUBLE PRECISION)"""
# A row that was moved here may be of a server whose clock is ahead.
LIVING_NAMES = f"""
    SELECT name FROM processes
    WHERE abs(seen_at - {_NOW}) <= CAST(:lease_s AS DOUBLE PRECISION) ORDER BY name"""
CLAIM = """
    INSERT INTO claims (what, process)
    SELECT w.what, p.name FROM unnest(CAST(:whats AS TEXT[])) AS w (what) JOIN processes p ON p.name = :process
    ORDER BY w.what
    ON CONFLICT (what) DO UPDATE SET process = excluded.process WHERE claims.process = excluded.process
    RETURNING what"""
RELEASE = "DELETE FROM claims WHERE process = :process AND what IN :whats"
CLAIMS = "SELECT what, process FROM claims"
IS_HELD = "SELECT 1 FROM claims WHERE what = :what AND process = :process"

# ---------------------------------------------------------------- chunks and vectors of a collection

_IN_COLLECTION = "d.collection = :collection AND d.removed_at IS NULL"
CHUNKS = f"""
    SELECT c.id, c.document_id, c.dataset_id, d.user_id, t.title, c.heading_path, c.text, e.vector
    FROM chunks c JOIN documents t ON t.id = c.document_id JOIN datasets d ON d.id = c.dataset_id + 0
        LEFT JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
    WHERE c.id IN :ids AND {_IN_COLLECTION}"""
CHUNK_IDS = f"SELECT c.id FROM datasets d JOIN chunks c ON c.dataset_id = d.id WHERE {_IN_COLLECTION}"
CHUNK_COUNT = f"SELECT COALESCE(SUM(d.chunks), 0) FROM datasets d WHERE {_IN_COLLECTION}"

_EMBEDDED = f"""
    FROM datasets d JOIN chunks c ON c.dataset_id = d.id JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
    WHERE {_IN_COLLECTION}"""
UNEMBEDDED_COUNT = f"""
    SELECT COUNT(*) FROM (
        SELECT c.id FROM datasets d JOIN chunks c ON c.dataset_id = d.id
            LEFT JOIN embeddings e ON e.chunk_id = c.id AND e.model = :model
        WHERE {_IN_COLLECTION} AND c.dataset_id IN :datasets
            AND (:any_document = 1 OR c.document_id IN :documents) AND e.chunk_id IS NULL
        LIMIT :limit) u"""
VECTORS_OF_COLLECTION = f"SELECT e.chunk_id, c.document_id, c.dataset_id, e.vector {_EMBEDDED}"
EMBEDDED_IDS = f"SELECT e.chunk_id {_EMBEDDED}"
EMBEDDED_COUNT = f"SELECT COUNT(*) {_EMBEDDED}"
BYTES_OF_A_VECTOR = f"SELECT length(e.vector) {_EMBEDDED} LIMIT 1"
VECTORS = "SELECT e.chunk_id, e.vector FROM embeddings e WHERE e.chunk_id IN :ids AND e.model = :model"
MODELS_OF_VECTORS = "SELECT e.chunk_id, e.model FROM embeddings e WHERE e.chunk_id IN :ids"

STORE_VECTOR = """
    INSERT INTO embeddings (chunk_id, model, vector)
    SELECT :chunk_id, :model, :vector WHERE EXISTS (SELECT 1 FROM chunks WHERE id = :chunk_id)
    ON CONFLICT (chunk_id, model) DO UPDATE SET vector = excluded.vector"""

# ---------------------------------------------------------------- writes of documents

LOCK_DATASET = "SELECT collection FROM datasets WHERE id = :dataset_id AND removed_at IS NULL FOR UPDATE"
LOCK_DATASETS_OF_CHUNKS = """
    SELECT id FROM datasets WHERE id IN (SELECT dataset_id FROM chunks WHERE chunks.id IN :ids)
    ORDER BY id FOR UPDATE"""
_DOCUMENT = """
    SELECT id, dataset_id, source, title, file_type, state, error, chunks, size_bytes, content_hash, date, updated_at,
        meta
    FROM documents"""
DOCUMENT = f"{_DOCUMENT} WHERE dataset_id = :dataset_id AND source = :source"
DOCUMENTS_WITH_IDS = f"{_DOCUMENT} WHERE id IN :ids AND dataset_id {_OF_DATASETS}"
PARTS_OF = """
    SELECT id, source FROM documents WHERE dataset_id = :dataset_id AND source{c} >= :first AND source{c} < :end"""
STORED_DOCUMENTS = """
    SELECT source, id, title, file_type, state, chunks, content_hash, date, meta
    FROM documents WHERE dataset_id = :dataset_id AND source IN :sources"""
INSERT_DOCUMENT = """
    INSERT INTO documents (dataset_id, source, title, file_type, state, error, chunks, size_bytes, content_hash, date,
        meta, created_at, updated_at)
    VALUES (:dataset_id, :source, :title, :file_type, :state, :error, :chunks, :size_bytes, :content_hash, :date,
        :meta, :updated_at, :updated_at)"""
UPDATE_DOCUMENT = """
    UPDATE documents SET title = :title, file_type = :file_type, state = :state, error = :error, chunks = :chunks,
        size_bytes = :size_bytes, content_hash = :content_hash, date = :date, meta = :meta, updated_at = :updated_at
    WHERE dataset_id = :dataset_id AND source = :source"""
REFRESH_DOCUMENT = """
    UPDATE documents SET date = :date, meta = :meta, updated_at = :updated_at
    WHERE dataset_id = :dataset_id AND source = :source"""

DELETE_METADATA = "DELETE FROM document_metadata WHERE document_id IN :document_ids"
INSERT_METADATA = """
    INSERT INTO document_metadata (document_id, dataset_id, key, position, kind, text, number)
    VALUES (:document_id, :dataset_id, :key, :position, :kind, :text, :number)"""

DELETE_TERMS = "DELETE FROM terms WHERE document_id IN :document_ids"
INSERT_TERM = """
    INSERT INTO terms (dataset_id, document_id, short, long, short_head, long_head)
    VALUES (:dataset_id, :document_id, :short, :long, :short_head, :long_head)"""
DATASETS_WITH_TERMS = """
    SELECT id FROM datasets WHERE id IN :datasets AND removed_at IS NULL
    AND EXISTS (SELECT 1 FROM terms WHERE terms.dataset_id = datasets.id)"""
TERMS_BY_HEAD = f"""
    SELECT short, long, document_id IS NULL FROM terms WHERE dataset_id {_OF_DATASETS} AND short_head IN :heads
    UNION SELECT short, long, document_id IS NULL FROM terms WHERE dataset_id {_OF_DATASETS} AND long_head IN :heads
    ORDER BY 3 DESC, 1, 2 LIMIT :limit"""

CHUNKS_OF_DOCUMENTS = "SELECT id, document_id FROM chunks WHERE document_id IN :document_ids"
DELETE_CHUNKS = "DELETE FROM chunks WHERE id IN :ids"
INSERT_CHUNK = """
    INSERT INTO chunks (id, document_id, dataset_id, position, text, text_hash, heading_path, page, page_end, line,
        line_end, chunk_kind, confidence)
    VALUES (:id, :document_id, :dataset_id, :position, :text, :text_hash, :heading_path, :page, :page_end, :line,
        :line_end, :chunk_kind, :confidence)"""
MOVE_CHUNK = """
    UPDATE chunks
    SET position = :position, text_hash = :text_hash, page = :page, page_end = :page_end, line = :line,
        line_end = :line_end, chunk_kind = :chunk_kind, confidence = :confidence
    WHERE id = :id"""

_UNREAD = """
    state IN ('queued', 'running') AND kind IN ('upload', 'text') AND dataset_id = :dataset_id AND title = :source
        AND id < :before"""
# Jobs that are still to read a file of this source.
UNREAD_UPLOADS = f"SELECT id FROM jobs WHERE {_UNREAD} LIMIT 1"
SUPERSEDE_UPLOADS = f"UPDATE jobs SET state = 'done', result = :result, finished_at = :now WHERE {_UNREAD}"

LOG_CHUNK = "INSERT INTO changes (collection, chunk_id) VALUES (:collection, :chunk_id)"
_LAST_CHANGE = "(SELECT COALESCE(MAX(seq), 0) FROM changes WHERE collection = :collection)"
MARK_CHANGED = f"UPDATE documents SET changed_seq = {_LAST_CHANGE} WHERE id IN :document_ids"
MARK_DATASET_CHANGED = f"UPDATE documents SET changed_seq = {_LAST_CHANGE} WHERE dataset_id = :dataset_id"
ADD_TO_COUNTERS = """
    UPDATE datasets SET documents = documents + :documents, chunks = chunks + :chunks WHERE id = :dataset_id"""

# ---------------------------------------------------------------- what a driver is given


@lru_cache(maxsize=500)
def text_for(dialect: str, statement: str) -> str:
    """Return the statement in the words of SQLite's or PostgreSQL's driver; each shape of a filter is one statement."""
    if dialect == "sqlite":  # which does better without the copy, and locks the whole file for a write
        statement = statement.replace("AS MATERIALIZED", "AS").removesuffix(" FOR UPDATE")
        return re.sub(r"IN :(\w+)", r"IN (SELECT value FROM json_each(:\1))", statement)
    statement = re.sub(r" INDEXED BY \w+", "", statement)
    statement = re.sub(r"IN :(\w+)", r"= ANY(:\1)", statement).replace("instr(", "strpos(")
    return re.sub(r":(\w+)", r"%(\1)s", statement)


def parameters_for(dialect: str, parameters: Mapping[str, Value]) -> dict[str, object]:
    """Return the parameters as the driver takes them: several values as JSON for SQLite, as an array for PostgreSQL."""
    return {name: _parameter(dialect, value) for name, value in parameters.items()}


def _parameter(dialect: str, value: Value) -> object:
    if isinstance(value, SINGLE):
        return value
    if not value and dialect == "sqlite":
        return "[]"
    return json.dumps(list(value)) if dialect == "sqlite" else list(value)
