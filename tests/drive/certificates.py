"""An authority that nobody trusts but the test, and a server's certificate by it."""

import ssl
from pathlib import Path

import trustme


def made_up_authority(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Return what a server at 127.0.0.1 needs, and the file of the authority that signed it.

    The server's key and certificate lie in ``folder``/server.pem, too.
    """
    authority = trustme.CA()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = authority.issue_cert("127.0.0.1")
    certificate.configure_cert(served)
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    path = folder / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return served, str(path)
