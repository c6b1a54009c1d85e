"""Scans: pictures of text, read by Tesseract, which runs as a program of its own beside the process that parses.

May import: `core.errors`, `core.text`, and the readers' values.
Way in: `program.find_tesseract`, `recognize.read_picture`; `reading.PageReading` is what was read.
"""
