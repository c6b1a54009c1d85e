"""One search: expand → search → fuse → read → rerank → refine, over the legs of every collection in scope.

May import: `core.indexes` and the rooms below it. A search knows no chat.
Way in: `pipeline.Search`, which calls the rest in order; `strategies/` has a file per strategy.
"""
