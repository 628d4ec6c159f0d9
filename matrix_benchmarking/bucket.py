"""S3, through s3fs. Endpoint, region, profile and credentials come from the standard AWS variables and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .errors import MatbenchError, OutputError, needing, os_reason

BEGINNING = "s3://"
_VARIABLES = "the standard AWS variables (AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_ENDPOINT_URL …)"


def connect(kind: type[MatbenchError]) -> Any:
    """What reads and writes objects; :func:`close` it. Raises *kind*: s3fs isn't installed."""
    with needing("S3", "remote", kind):
        import s3fs

    return s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)


def close(files: Any) -> None:
    """Let go of the connections of s3fs."""
    if files._s3 is not None:
        files.close_session(files.loop, files._s3creator)


def errors() -> tuple[type[Exception], ...]:
    """What s3fs raises where S3 doesn't do what was asked for; :func:`reason` says why."""
    import botocore.exceptions as botocore

    return OSError, botocore.BotoCoreError, botocore.ClientError


def put(local: Path, address: str) -> None:
    """Write the file *local* as the object at *address*, which is there as a whole, or as before.

    Raises:
        OutputError: it can't be written.
    """
    check(address, OutputError)
    files = connect(OutputError)
    try:
        files.put_file(str(local), address.removeprefix(BEGINNING))
    except errors() as error:
        raise OutputError(f"cannot write {address}: {reason(error)}") from error
    finally:
        close(files)


def check(address: str, kind: type[MatbenchError]) -> None:
    """Raise *kind* where *address* names no bucket, or nothing in it."""
    bucket, _, key = address.removeprefix(BEGINNING).partition("/")
    if not bucket or not key.strip("/"):
        raise kind(f"'{address}' should be s3://bucket/name")


def reason(error: Exception) -> str:
    """Why S3 doesn't do what was asked for, without what a server may have put into it."""
    import botocore.exceptions as botocore

    if isinstance(error, FileNotFoundError):
        return "there is no such bucket or prefix; the endpoint is named by AWS_ENDPOINT_URL"
    if isinstance(error, PermissionError):
        return f"the access is refused; check {_VARIABLES}"
    if isinstance(error, (botocore.NoCredentialsError, botocore.PartialCredentialsError)):
        return f"there are no credentials; set {_VARIABLES}"
    if isinstance(error, botocore.EndpointConnectionError):
        return "the endpoint can't be reached; it is named by AWS_ENDPOINT_URL"
    if isinstance(error, (botocore.HTTPClientError, TimeoutError)):
        return f"the connection broke ({type(error).__name__})"
    if isinstance(error, OSError):
        return f"the server refuses it: {os_reason(error)}"
    return f"the request failed ({type(error).__name__})"
