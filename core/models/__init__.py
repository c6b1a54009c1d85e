"""Everything that asks a model or reads its answer: embeddings, chat models, rerankers, prompts.

May import: `core.text`, `core.types`, `core.errors`.
Way in: `embeddings.embedding_model`, `chat.ChatModels`, `rerank.Rerankers`, `prompts.Prompts`.
"""
