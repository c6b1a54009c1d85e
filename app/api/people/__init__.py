"""The resources about people: accounts, their life from import to export, and the audit log.

May import: what `app.api` may; nothing else of `app.api` but `framework` and `schemas`.
Way in: the `resource` of each module.
"""
