"""What an address chooses: a limit holds where it says what is best, and a choice that matches nothing is a mistake."""

from __future__ import annotations

import pytest
from plotting_support.app_support import elements, texts

from matrix_benchmarking.analyze import bounds
from matrix_benchmarking.plotting.app.answers import Pages


def text_of(pages: Pages, query: str) -> str:
    """The text of a page with all parts that are made when they are seen."""
    content, _, _ = pages.page(query, list(range(20)))
    return texts(content)


def test_a_limit_is_kept_and_offered_where_it_changes_something(pages: Pages) -> None:
    text = text_of(pages, "?show=cost-analysis&cfg.limit=50")
    assert "105 of 153 runs are not shown: 60 not sure to keep the limit, 45 that can't be ranked." in text
    assert "at a p95_latency of at most 4.3 ms" in text
    assert (
        "Lowest mean 1B_cost of each variant: cpu-1 · onnx-int8 27.49 USD at batch size 8, 8 virtual users (3" in text
    )
    assert "vus_8__repeat" in text_of(pages, "?show=runs&cfg.limit=50")
    assert "vus_32__repeat" in text_of(pages, "?show=runs")
    for page, has_verdict in (("cost-analysis", True), ("runs", True), ("compare", False), ("kpi-history", False)):
        _, panel, _ = pages.page(f"?show={page}&cfg.limit=50", [])
        assert ("p95_latency at most" in texts(panel)) == has_verdict
        assert "No page has" not in text_of(pages, f"?show={page}&cfg.limit=50")


def test_a_choice_that_no_page_has_is_a_mistake(pages: Pages) -> None:
    assert "No page has a choice 'cfg.limits': did you mean 'limit'? " in text_of(pages, "?show=compare&cfg.limits=50")
    assert "limit: -4 is below 0. The default is used." in text_of(pages, "?show=cost-analysis&cfg.limit=-4")
    known = text_of(pages, "?show=compare&cfg.setting=vus&cfg.old=foo")
    assert "foo is no value of vus; there are 1, 4, 8, 16, 32." in known
    assert "No page has" not in text_of(pages, "?show=compare&cfg.minimum_vus=8")


@pytest.mark.parametrize("page", ["best-configuration", "compare", "latency-against-throughput"])
def test_an_address_that_says_nonsense_is_told_so_on_each_page(pages: Pages, page: str) -> None:
    content, _, _ = pages.page(f"?show={page}&order=vuss,vus&cfg.latency=foo", [])
    said = [texts(box) for box in elements(content, "Div") if getattr(box, "role", "") == "alert"]
    assert len(said) == 2
    assert "latency: there is no 'foo': known: avg_latency, p95_latency." in " ".join(said)
    assert "There is no setting 'vuss' to order by: did you mean 'vus'?" in " ".join(said)


def test_a_choice_that_is_none_leaves_the_list_at_the_default(pages: Pages) -> None:
    content, panel, _ = pages.page("?show=explore&cfg.x=nix", [])
    assert "x: there is no 'nix': " in texts(content)
    assert [(one.value, one.id["shown"]) for one in elements(panel, "Dropdown")] == [("vus", "vus")]


def test_what_the_first_filter_takes_is_known_before_anybody_filters(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.data.join(60)
    computed: list[object] = []
    monkeypatch.setattr(bounds, "bounds_of", lambda *of, **options: computed.append(of))
    assert "cpu-1" in texts(pages.frame("?filters=hw_type=cpu-1"))
    assert not computed
