"""Access to a running app for the command line and MCP on stdio: the app's routes, and the client that calls them.

May import: `app.web` and the rooms below it.
Way in: `client.OwnerClient` and `routes`.
"""
