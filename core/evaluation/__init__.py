"""Evaluation: measures of the search on judged questions, and tuning of its settings to them.

May import: `core.chat`, `core.braid` and the rooms below them.
Way in: `evaluation.evaluate`, `tuning.tune`, `feedback_export.export_qrels`.
"""
