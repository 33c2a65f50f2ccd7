"""Who may look at the page, and what is answered."""

import http.client
import json
import socket
import time

import pytest

from panjoin.errors import ParameterError
from panjoin.page import serve
from panjoin.page.serve import Pages, allowed
from tests.page.moments import board, moment


@pytest.fixture
def pages():
    served = Pages(board(2))
    yield served
    served.asked = float("-inf")  # nobody is there
    served.close()


def ask(pages: Pages, path: str, host: str | None = None, method: str = "GET"):
    connection = http.client.HTTPConnection("127.0.0.1", pages.port)
    connection.putrequest(method, path, skip_host=True)
    if host != "":
        connection.putheader("Host", f"127.0.0.1:{pages.port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_with_the_token_there_is_the_page_and_what_is_new_on_it(pages):
    answer, body = ask(pages, f"/{pages.token}/")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert body.startswith("<!doctype html>")
    pages.board.moment(moment(2))
    answer, body = ask(pages, f"/{pages.token}/told?after=1")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    assert [each["batch"] for each in json.loads(body)["moments"]] == [2]
    assert len(json.loads(ask(pages, f"/{pages.token}/told")[1])["moments"]) == 3
    answer, body = ask(pages, f"/{pages.token}/report.html")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="report.html"'
    assert "connect-src &#x27;none&#x27;" in body


def test_without_the_right_token_there_is_nothing(pages):
    wrong = pages.token[:-1] + ("a" if pages.token[-1] != "a" else "b")
    for path in ("/", f"/{wrong}/", f"/{wrong}/told", "/told?after=0", f"/{pages.token[:-1]}/", "/favicon.ico", "/%C3%A9/",
                 "/" + "x" * 5000):  # fmt: skip
        answer, body = ask(pages, path)
        assert (answer.status, body) == (403, "no page here\n")
        assert pages.token not in str(answer.headers)


def test_every_run_has_a_token_of_its_own_that_nobody_guesses():
    several = [Pages(board()) for _ in range(3)]
    for each in several:
        each.close()
    assert len({each.token for each in several}) == 3
    assert all(len(each.token) == 32 for each in several)  # 24 random bytes


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1", "localhost.evil"]
)
def test_a_page_of_somebody_else_whose_name_points_here_is_refused(pages, host):
    answer, body = ask(pages, f"/{pages.token}/", host=host)
    assert (answer.status, body) == (403, "no page here\n")


@pytest.mark.parametrize(
    ("header", "host", "fine"),
    [
        ("127.0.0.1:8000", "127.0.0.1", True),
        ("localhost:9", "127.0.0.1", True),  # through a tunnel, with another port
        ("[::1]:8000", "127.0.0.1", True),
        ("192.168.1.7:8000", "127.0.0.1", False),  # nobody means loopback by that
        ("192.168.1.7:8000", "0.0.0.0", True),
        ("spark-1:8000", "spark-1", True),
        ("spark-1:8000", "0.0.0.0", False),
        ("evil.example", "0.0.0.0", False),
        (None, "127.0.0.1", False),
    ],
)
def test_a_host_is_an_address_or_a_name_of_this_machine(header, host, fine):
    assert allowed(header, host) is fine


def test_the_headers_keep_the_page_to_itself(pages):
    answer, _ = ask(pages, f"/{pages.token}/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    for name, value in {
        "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
        "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Server": "panjoin",
    }.items():  # fmt: skip
        assert answer.headers[name] == value
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "<script>"])
def test_a_page_is_read_and_nothing_else(pages, method):
    answer, body = ask(pages, f"/{pages.token}/", method=method)
    assert answer.status == 501
    assert body in {"no page here\n", ""}


@pytest.mark.parametrize(
    "query", ["after=x", "after=1&after=2", "after=1e9", "after=" + "9" * 200, "after=--1", "after=%C2%B2"]
)
def test_what_is_no_number_of_a_micro_batch_is_refused(pages, query):
    answer, _ = ask(pages, f"/{pages.token}/told?{query}")
    assert answer.status == 404


@pytest.mark.parametrize(
    "words", [b"<b>hello</b>", b"GET /hello\xff\xe9/ HTTP/1.0", b"GET http://hello/ HTTP/1.0", b"GET //[hello"]
)
def test_words_that_are_no_request_are_answered_with_nothing_of_them(pages, words):
    with socket.create_connection(("127.0.0.1", pages.port)) as line:
        line.sendall(words + b"\r\n\r\n")
        said = b"".join(iter(lambda: line.recv(4096), b""))
    assert b"hello" not in said


def test_only_this_machine_can_ask(pages):
    assert pages.address == f"http://127.0.0.1:{pages.port}/{pages.token}/"
    assert pages._server.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_one_line_for_the_user(pages):
    with pytest.raises(
        ParameterError, match=rf"port {pages.port} on 127\.0\.0\.1 cannot be served .*another --ui-port"
    ):
        Pages(board(), port=pages.port)


def test_those_who_look_are_waited_for_until_they_have_seen_the_end(monkeypatch):
    monkeypatch.setattr(serve, "MORE", 0.0)
    served = Pages(board(1))
    ask(served, f"/{served.token}/told")
    served.board.say("done", "all of it")
    ask(served, f"/{served.token}/told?after=0")
    began = time.monotonic()
    served.close()
    assert time.monotonic() - began < serve.GRACE
    assert served.ended.is_set()
    with pytest.raises(ConnectionRefusedError):
        ask(served, "/")
