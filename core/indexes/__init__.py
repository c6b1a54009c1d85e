"""The indexes derived from the ledger, one per leg, and the indexer that keeps them equal to it.

May import: `core.data_directory` and the rooms below it. An index knows no search.
Way in: `base.LegIndex`, the interface; `dense` (mapped files) and `bm25` (tantivy), its indexes; `installed`, those of
other packages; `indexer.Indexer`, which runs one `follower` per leg. A broken index is noticed by `inspection`.
"""
