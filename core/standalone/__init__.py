"""Hybrid search without a data directory: over an existing Chroma collection, or over chunks in memory.

May import: `core.search` and the rooms below it.
Way in: `retriever.HybridRetriever` and `searcher.HybridSearcher`.
"""
