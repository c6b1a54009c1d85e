"""Requests to other servers: the addresses they may go to, and the client of models, which follows no redirect.

May import: nothing of `core`.
Way in: `model_http.model_http`, `network.GuardedNetwork`.
"""
