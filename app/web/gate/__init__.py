"""What is between the network and the app: connections, heads and bodies with bounds, and threads in turn.

May import: app.web and what it may.
Way in: `gateway.Gateway`; `connections.with_sound_heads` and `connections.timely_protocol`.
"""
