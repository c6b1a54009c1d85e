"""The copy of the vectors in Chroma: the process that has it open, the store and its exceptions.

May import: what `core.indexes` may.
Way in: `copy.ChromaCopy`; `worker` and `store` run in a process of their own.
"""
