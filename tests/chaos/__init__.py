"""Faults under load: a real server is killed, starved and damaged while clients write to it.

An oracle remembers what the server acknowledged, and checks it after each fault.
"""
