"""Opens both legs' indexes on a Milvus server."""

from __future__ import annotations

from braid.core.files.claim import Claim
from braid.core.indexes.answering_models import AnsweringModels
from braid.core.indexes.milvus.dense import MilvusVectorIndex
from braid.core.indexes.milvus.keyword import MilvusKeywordIndex
from braid.core.indexes.milvus.options import MilvusOptions
from braid.core.indexes.milvus.server import MilvusServer
from braid.core.ledger.change_log import ChangeLog
from braid.core.text.analyzer import Analyzer


def open_milvus(
    options: MilvusOptions, changes: ChangeLog, models: AnsweringModels, analyzer: Analyzer, claim: Claim
) -> tuple[MilvusKeywordIndex, MilvusVectorIndex]:
    """Return the indexes. The server is asked by their first call, and may be down until then.

    Raises MissingExtraError without pymilvus, and OtherSiteError where the server has another site's indexes.
    """
    server = MilvusServer(options, claim)
    server.require_site()
    return MilvusKeywordIndex(server, changes, analyzer), MilvusVectorIndex(server, changes, models)
