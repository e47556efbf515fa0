"""An authority that nobody trusts but the test, and a server's certificate by it."""

import ssl
from pathlib import Path

import trustme


def made_up_authority(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Return what a server at 127.0.0.1 needs, and the file of the authority that signed it."""
    authority = trustme.CA()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(served)
    path = folder / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return served, str(path)
