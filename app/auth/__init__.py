"""Who sends a request and what they may call: identity, access rules, rate limits, quotas.

May import: `app.site`.
Way in: `access.rule` on every route; `identity.identity` for the caller.
"""
