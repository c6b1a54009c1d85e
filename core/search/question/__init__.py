"""What a question says of where to look: the filters that it asks for.

May import: what `core.search` may.
Way in: `filters.read_question`, which `braid.core.retriever_manager` calls for every search that wants it. `phrases`
has the words of three languages, `wishes` reads them, `vocabulary` has the values of metadata that a scope may read.
"""
