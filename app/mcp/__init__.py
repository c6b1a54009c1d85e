"""Braid as an MCP server: tools, resources and prompts over the same search, on stdio and over HTTP.

May import: `app.web` and the rooms below it; not the pages and not the API.
Way in: `http.with_mcp` beside the pages; `server.make_server` on stdio; `tools` has what the tools do.
"""
