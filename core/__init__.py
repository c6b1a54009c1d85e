"""The library: search, the ledger and the indexes. It knows nothing of Flask, settings or the environment."""

if __name__ == "core":  # in a checkout; the package's one name is braid.core
    from braid.one_name import under_one_name

    under_one_name(__name__)
