#!/bin/sh
# /usr/local/sbin/braid: one command of Braid, by root, with the user, the settings and the keys of braid.service:
#
#     braid doctor --quiet
#
# The status is the command's, and so is the folder that relative paths are about, where the user braid may enter it.
# A shell of the user braid has neither settings nor keys: secrets.env is root's. Ctrl+C stops the command.
for given do # systemd replaces $NAME in arguments, and writes $ for $$
    said=
    while case $given in *\$*) ;; *) false ;; esac; do
        said=$said${given%%\$*}\$\$
        given=${given#*\$}
    done
    shift
    set -- "$@" "$said$given"
done
unit=braid-command-$$
trap 'systemctl stop "$unit"' HUP INT TERM
systemd-run --quiet --pipe --wait --collect --unit="$unit" --uid=braid --gid=braid -p "WorkingDirectory=-$PWD" -p UMask=0077 \
    -p "Environment=BRAID_CONFIG=/etc/braid/braid.toml BRAID_DATA_DIR=/var/lib/braid/data PYTHONUNBUFFERED=1" \
    -p EnvironmentFile=/etc/braid/secrets.env /opt/braid/.venv/bin/braid "$@"
