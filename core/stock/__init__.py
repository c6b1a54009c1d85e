"""The engine ``langchain``: LangChain's stock classes over what the ledger has, within the caller's scope; and classes
named as the strategies are elsewhere.

May import: search and everything below it.
Way in: `braid.core.stock.engine.StockEngine`.
"""
