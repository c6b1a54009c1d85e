"""The small framework under the API: typed operations become routes, checks and the OpenAPI document.

May import: `app.auth`, `app.web`, `app.site`.
Way in: `operations.Resource`.
"""
