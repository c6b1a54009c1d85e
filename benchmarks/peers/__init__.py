"""Braid beside other libraries: the same texts, vectors and queries, each library in a process of its own."""
