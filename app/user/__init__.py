"""What one user may use and prefers: datasets, chat models, search defaults, the menu of strategies.

May import: `app.auth` and `app.site`.
Way in: `datasets.caller_datasets`, `models.choose_models`, `preferences.preferences_of`.
"""
