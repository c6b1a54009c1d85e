"""The search pages: free text, three fields, filters, comparison, and why a document is or is not found.

May import: what `app.pages` may.
Way in: `blueprint.search`, the blueprint; `search` has the page.
"""
