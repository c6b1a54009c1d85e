"""Documents as a program has them at hand, texts, objects or LangChain's, stored with their metadata in batches.

May import: `core.ingest` and the rooms below it. No request calls it: it splits and reads texts in this process.
Way in: `add.add_documents`, which is also `braid.core.braid.Braid.add`.
"""
