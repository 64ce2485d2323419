"""No test leaves this machine: the guard of conftest.py.

That the package itself needs no network is shown in test_new_process.py.
"""

import socket

import pytest

pytestmark = pytest.mark.one_backend("sockets")


@pytest.mark.parametrize("call", ["connect", "connect_ex"])
def test_a_test_cannot_leave_this_machine(call):
    """The guard of conftest.py; 192.0.2.1 is reserved for documentation and answers nobody."""
    with socket.socket() as outside, pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        outside.settimeout(0.1)
        getattr(outside, call)(("192.0.2.1", 80))


def test_names_are_not_asked_for():
    with pytest.raises(RuntimeError, match=r"example\.org"):
        socket.getaddrinfo("example.org", 80)


def test_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost"):
            with socket.create_connection((host, server.getsockname()[1]), timeout=5):
                pass
