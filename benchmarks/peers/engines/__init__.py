"""One file per peer, each with a class `Engine` that has the methods of `benchmarks.peers.interface.Peer`."""
