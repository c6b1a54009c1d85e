"""Turns as they run and as they are stored: the tree of messages, its rows, the running turns, the search for words.

May import: what `core.chat` may, and of it `types`, `columns` and `turn_recorder`.
Way in: `bell.Pause`, `running.RunningTurns`, `turn_store.TurnStore`; `core.chat.store` reads what they store.
"""
