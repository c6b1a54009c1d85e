"""A conversation over the search: follow-ups, answers with citations, stored turns, feedback.

May import: `core.retriever_manager` and the rooms below it.
Way in: `conversation.Conversation` and `store.ConversationStore`.
"""
