"""An S3-compatible server in the tests' own process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from braid.core.files.bucket import Bucket

BUCKET = "braid-tests"
SECRET = "a-secret-key-that-nobody-may-see"

connect = Bucket._files


@contextmanager
def s3_server() -> Iterator[str]:
    """Start the server, and have AWS's variables lead there; yields the URL of a bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "braid")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        connected = connect(Bucket(f"s3://{BUCKET}", Path()))
        connected.mkdir(BUCKET)
        patch.setattr(Bucket, "_files", lambda bucket: connected)  # to connect takes longer than a test
        yield f"s3://{BUCKET}"
    server.stop()
