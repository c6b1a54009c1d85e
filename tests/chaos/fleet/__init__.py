"""A fleet under fire: web processes and workers over PostgreSQL and Milvus, any of which is killed while clients write.

`python -m tests.chaos.fleet` runs it; an oracle remembers what was acknowledged, and the ledger says who took over.
"""
