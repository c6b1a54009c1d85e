"""Users: accounts, sessions, tokens, keys, preferences, the audit log, usage.

May import: `core.ledger` and the rooms below it.
Way in: `accounts.Accounts`, `credentials.ApiTokens`, `audit.AuditLog`, `usage.Usage`.
"""
