"""What readers of several formats share: XML and pages that a parser may see, and numbers as lists show them.

May import: `core.errors` and `readers.document`.
Way in: `xml.parse_xml`, `html_tags.has_too_many_attributes`, `numerals.numeral`.
"""
