"""The library: search, the ledger and the indexes. It knows nothing of Flask, settings or the environment."""
