"""Identity, sign-in, access rules, rate limits and quotas of the users who send requests.

May import: `app.site`, and `app.metrics` and `app.opening` below it.
Way in: `access.rule` on every route; `identity.identity` for the caller.
"""
