"""Certificates and passwords, with nginx in front of the genuine OpenSearch: nothing secret gets out."""

from __future__ import annotations

import dataclasses

import pytest
from history_support.tls_proxy import PASSWORD, USER, TLSProxy
from history_support.uploads import kept_at, writer

from matrix_benchmarking.history import HistoryError, delivery
from matrix_benchmarking.history.opensearch_location import Credentials

pytestmark = pytest.mark.xdist_group("opensearch")


@pytest.fixture(scope="module")
def tls(opensearch, tmp_path_factory):
    with TLSProxy(tmp_path_factory.mktemp("nginx"), opensearch.port) as proxy:
        yield proxy


def test_with_the_right_certificate_and_password_all_is_well(tls, at, outboxes):
    location = at(tls.url)
    location = dataclasses.replace(location, access=Credentials(None, USER, PASSWORD, tls.ca_certs))
    assert delivery.upload(writer(1), location, outboxes).pushed.added == 1
    behind_a_path = dataclasses.replace(location, url=f"{tls.url}/search")
    assert kept_at(behind_a_path) == (1, 1)
    unverified = dataclasses.replace(location, access=Credentials(None, USER, PASSWORD, None, verify_certs=False))
    assert kept_at(unverified) == (1, 1)
    assert len(unverified.warnings()) == 1


@pytest.mark.parametrize("authority", [None, "other_ca_certs"])
def test_a_wrong_certificate_is_refused_before_the_password_is_sent(tls, at, outboxes, authority, impatient):
    authorities = None if authority is None else getattr(tls, authority)
    location = dataclasses.replace(at(tls.url), access=Credentials(None, USER, PASSWORD, authorities))
    with pytest.raises(delivery.UndeliveredError, match="has a certificate that is not to be trusted") as caught:
        delivery.upload(writer(1), location, outboxes)
    assert "_CA_CERTS" in str(caught.value)
    right = dataclasses.replace(location, access=Credentials(None, USER, PASSWORD, tls.ca_certs))
    assert delivery.flush(right, outboxes).added == 1


def test_a_certificate_for_another_name_is_refused(tls, at, outboxes, impatient):
    url = tls.url.replace("127.0.0.1", "localhost")
    location = dataclasses.replace(at(url), access=Credentials(None, USER, PASSWORD, tls.ca_certs))
    with pytest.raises(delivery.UndeliveredError, match="not to be trusted"):
        delivery.upload(writer(1), location, outboxes)


@pytest.mark.parametrize(
    "access", [Credentials(), Credentials(None, USER, "wrong"), Credentials(None, "eve", PASSWORD)]
)
def test_a_wrong_password_is_a_sentence_and_keeps_everything(tls, at, outboxes, access):
    location = at(tls.url)
    wrong = dataclasses.replace(location, access=dataclasses.replace(access, ca_certs=tls.ca_certs))
    with pytest.raises(delivery.UndeliveredError, match="check the user name and the password"):
        delivery.upload(writer(1), wrong, outboxes)
    right = dataclasses.replace(location, access=Credentials(None, USER, PASSWORD, tls.ca_certs))
    assert delivery.flush(right, outboxes).added == 1


def test_no_password_is_in_errors_tracebacks_or_the_outbox(tls, at, outboxes, impatient):
    import traceback

    secret = "very-special-secret"
    for url, authorities in [(tls.url, tls.ca_certs), (tls.url, None), ("https://127.0.0.1:9", None)]:
        location = dataclasses.replace(at(url), access=Credentials(None, USER, secret, authorities))
        with pytest.raises(HistoryError) as caught:
            delivery.upload(writer(1), location, outboxes)
        shown = "".join(traceback.format_exception(caught.value))
        chain, error = [], caught.value
        while error is not None:
            chain += [str(error), repr(error), repr(error.args)]
            error = error.__cause__ or error.__context__
        assert secret not in shown + "".join(chain)
    written = [path.read_bytes() for path in outboxes.rglob("*") if path.is_file()]
    assert len(written) == 3
    assert all(secret.encode() not in content and USER.encode() not in content[:200] for content in written)
