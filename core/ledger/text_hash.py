"""The hash by which equal texts are found among many without reading them."""

from __future__ import annotations

import hashlib


def text_hash(text: str) -> int:
    """Return a signed number of 64 bits that texts have in common which differ in white space alone.

    Different texts may have the same by chance, or because somebody made them so: compare the texts, too. Another
    function than this one needs a migration that fills the column ``text_hash`` again.
    """
    digest = hashlib.blake2b(" ".join(text.split()).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
