"""The application: pages, server and command line over the library in `core`."""
