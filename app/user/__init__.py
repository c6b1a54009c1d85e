"""Datasets, chat models, search defaults and strategies that one user may choose.

May import: `app.auth` and `app.site`.
Way in: `datasets.caller_datasets`, `models.choose_models`, `preferences.preferences_of`.
"""
