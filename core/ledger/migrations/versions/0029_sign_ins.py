"""When users signed in last, and when they were invited; filled from what the audit log and the browsers know."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"

KNOWN_BY = """
    UPDATE users SET {column} = found.at
    FROM (SELECT target, max(at) AS at FROM audit_log WHERE action = '{action}' GROUP BY target) AS found
    WHERE found.target = users.name AND found.at >= users.created_at"""
IN_A_BROWSER = """
    UPDATE users SET signed_in_at = (SELECT max(created_at) FROM web_sessions WHERE user_id = users.id)
    WHERE signed_in_at IS NULL"""


def upgrade() -> None:
    for column, action in (("signed_in_at", "user.signed_in"), ("invited_at", "user.invited")):
        op.add_column("users", sa.Column(column, sa.Double(), nullable=True))
        op.execute(KNOWN_BY.format(column=column, action=action))
    op.execute(IN_A_BROWSER)
