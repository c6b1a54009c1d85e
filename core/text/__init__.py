"""Text in all languages: tokens, stems, sentences, scripts, units, token counts.

May import: `core.errors` and `core.types` alone.
Way in: `analyzer.Analyzer`; `scripts` recognizes languages and scripts.
"""
