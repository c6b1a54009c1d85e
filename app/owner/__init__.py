"""The command line and MCP on stdio beside a running app: the routes it answers, and the client that asks.

May import: `app.web` and the rooms below it.
Way in: `client.OwnerClient` and `routes`.
"""
