"""What readers of several formats share: XML that a parser may see, and numbers as lists show them.

May import: `core.errors` and `readers.document`.
Way in: `xml.parse_xml`, `numerals.numeral`.
"""
