"""Readers of files that are pages as they are printed: their text in reading order, and a page as a picture.

May import: what `readers/` may, and its module `document`.
Way in: `pdf.read`, and `page_picture.draw_page`.
"""
