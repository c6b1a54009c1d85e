"""Braid as an MCP server: tools, resources and prompts over the same search path, on stdio and over HTTP."""
