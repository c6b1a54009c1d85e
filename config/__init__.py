"""Settings and their defaults, read once at the edge and passed down as values."""

if __name__ == "config":  # in a checkout; the package's one name is braid.config
    from braid.one_name import under_one_name

    under_one_name(__name__)
