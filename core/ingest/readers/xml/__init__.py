"""XML: what a parser may see of it, and a reader of documents in XML.

May import: what `readers/` may, and its modules.
Way in: `parts.parse_xml` for readers of formats that contain XML; `tree.read`, by the table in
`braid.core.ingest.formats`.
"""
