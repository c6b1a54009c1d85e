#!/bin/sh
# /usr/local/sbin/braid: one command of Braid, by root, with the user, the settings and the keys of braid.service:
#
#     braid doctor --quiet
#
# The status is the command's. A shell of the user braid has neither: secrets.env is root's.
exec systemd-run --quiet --pipe --wait --collect --uid=braid --gid=braid -p WorkingDirectory=/opt/braid -p UMask=0077 \
    -p "Environment=BRAID_CONFIG=/etc/braid/braid.toml BRAID_DATA_DIR=/var/lib/braid/data PYTHONUNBUFFERED=1" \
    -p EnvironmentFile=/etc/braid/secrets.env /opt/braid/.venv/bin/braid "$@"
