"""Who sends a request and what they may call: identity, sign-in, access rules, rate limits, quotas.

May import: `app.site`, and `app.metrics` and `app.opening` below it.
Way in: `access.rule` on every route; `identity.identity` for the caller.
"""
