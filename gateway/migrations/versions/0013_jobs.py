"""Tables of the job engine that gateways on one PostgreSQL share"""

from alembic import op

from gateway.storage.job_tables import install, remove

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    install(op.get_bind())


def downgrade() -> None:
    remove(op.get_bind())
