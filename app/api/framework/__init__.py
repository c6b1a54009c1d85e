"""A small framework below the API: typed operations become routes, checks and the OpenAPI document.

May import: `app.web` and the rooms below it; nothing else of `app.api`.
Way in: `operations.Resource`.
"""
