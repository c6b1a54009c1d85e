"""The care that Chroma needs: open stores, damaged files, lost segments, its exceptions and filters.

May import: what `core.indexes` may.
Way in: `stores.ChromaStores`; used by `core.indexes.dense` alone.
"""
