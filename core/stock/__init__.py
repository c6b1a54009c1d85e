"""The engine ``langchain``: LangChain's stock classes over what the ledger has, within the caller's scope.

May import: search and everything below it.
Way in: `braid.core.stock.engine.StockEngine`.
"""
