"""SCIM 2.0 (RFC 7643, RFC 7644), ``/scim/v2``: an identity provider such as Entra or Okta keeps users and groups.

May import: `app.web` and the rooms below it.
Way in: `routes.scim`, the blueprint; what is kept is in `core.accounts.provisioning`.
"""
