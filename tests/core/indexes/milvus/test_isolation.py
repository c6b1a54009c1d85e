"""Nobody ever sees what is not theirs when the indexes are in Milvus, whatever stands there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from braid.core.braid import Braid, IndexOptions
from tests.core.test_isolation import Town, build, check_one_request, collections, tamper
from tests.fakes import HashEmbeddings
from tests.worlds import catch_up, indexed


def test_nobody_sees_what_is_not_theirs_in_milvus(tmp_path: Path, in_milvus: IndexOptions) -> None:
    outcomes: Counter[bool] = Counter()
    with Braid(tmp_path, embedding_model=HashEmbeddings(), index_options=in_milvus) as braid:
        town = Town(braid)
        build(town)
        catch_up(braid)
        everything = [chunk for name in collections(town) for chunk in indexed(braid, name)]
        braid.indexer.stop()
        for dataset in list(town.datasets):
            town.delete(dataset, f"deleted-{dataset}")
        for dataset in [max(d for d, owner in town.datasets.items() if owner == "bob"), min(town.datasets)]:
            town.remove(dataset)
        tamper(town, everything)

        @given(st.data())
        @settings(max_examples=12, deadline=None, derandomize=True, database=None)
        def check(data: st.DataObject) -> None:
            outcomes[check_one_request(town, data)] += 1

        check()
    assert outcomes[True] > 3
    assert outcomes[False] > 0
