"""Braid as an OAuth 2.1 authorization server: registration, tokens, and what clients read to find them.

May import: `app.web` and the rooms below it; the page on which users consent is in `app.pages`.
Way in: `routes.oauth`, the blueprint for programs; `server.server` for the page.
"""
