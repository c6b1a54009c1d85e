"""Tables counted: questions of how many, how much, the average or the highest, answered by SQL over stored rows.

May import: `core.errors`, `core.types`, `core.models`, `core.processes`, and of `core.chat` `citations`, `texts`
and `quoting.tables`; what the process needs (`worker` and below) imports the standard library alone.
Way in: `calculate.Calculator`.
"""
