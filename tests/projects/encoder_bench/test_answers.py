"""Whether the answers are right: asked over HTTP, compared, and kept."""

from __future__ import annotations

import json
import math

import numpy
import pytest
from benchmark_support.encoder_stub import EncoderStub, always, embeddings, labels
from hypothesis import assume, given
from hypothesis import strategies as st

from matrix_benchmarking.errors import MatbenchError
from projects.encoder_bench.answers import (
    Answer,
    ReferenceAnswers,
    ask,
    compare,
    cosine,
    decode,
    encode,
    kept,
    read_reference,
    standard_error,
    write_reference,
)
from projects.encoder_bench.k6 import TASKS

EMBEDDING, CLASSIFICATION = TASKS["embedding"], TASKS["classification"]
INPUTS = [f"{'x' * number}{number % 10}" for number in range(30)]


def vector(*values: float) -> Answer:
    return Answer(vector=numpy.array(values, dtype=numpy.float32))


def test_answers_come_in_the_order_of_their_inputs_however_they_are_asked():
    with EncoderStub(embeddings, delay_s=0.005) as stub:
        answers = ask(stub.url, "/v1/embeddings", EMBEDDING, "m", INPUTS, inputs_per_request=4, concurrency=8)
    assert [answer.vector[1] for answer in answers] == [len(text) for text in INPUTS]
    assert sorted(len(body["input"]) for body in stub.asked) == [2, *[4] * 7]


def test_a_classification_is_its_best_label():
    with EncoderStub(labels) as stub:
        answers = ask(stub.url, "/classify", CLASSIFICATION, "m", INPUTS, concurrency=3, headers={"X": "y"})
    assert [answer.label for answer in answers] == [text[-1] for text in INPUTS]
    assert answers[0].scores == {"0": 0.9, "other": 0.1}
    assert all(headers["X"] == "y" for headers in stub.headers)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (always(500, ""), "the status is 500"),
        (always(200, "<html>"), "not JSON"),
        (always(200, "[" * 100_000), "not JSON"),
        (always(200, "3"), "no list of answers"),
        (always(200, '{"data": []}'), "0 answers for 1 inputs"),
        (always(200, '{"data": [{"embedding": [1, "2"]}]}'), "no finite number"),
        (always(200, '{"data": [{"embedding": [1, NaN]}]}'), "no finite number"),
        (always(200, '{"data": [{"embedding": [0.0, 0]}]}'), "all zeros"),
        (always(200, '{"data": [[1, 2]]}'), "no embedding"),
        (always(200, '{"data": [{"embedding": [[1, 2], [3]]}]}'), "vectors are of different lengths"),
        (always(200, '{"data": [{"embedding": [[1], 2]}]}'), "no finite number"),
        (always(200, '{"data": [{"embedding": [[]]}]}'), "no finite number"),
        (always(200, '{"data": [{"embedding": [[0, 0], [0, 0]]}]}'), "all zeros"),
    ],
)
def test_a_wrong_answer_is_invalid_with_its_reason(reply, reason):
    with EncoderStub(reply) as stub:
        (answer,) = ask(stub.url, "/v1/embeddings", EMBEDDING, "m", ["x"])
    assert reason in answer.invalid


def test_a_server_that_is_down_gives_invalid_answers_and_no_error():
    answers = ask("http://127.0.0.1:9", "/v1/embeddings", EMBEDDING, "m", ["x", "y"])
    assert [answer.invalid for answer in answers] == ["no answer (ConnectError)"] * 2


def test_embeddings_are_compared_by_cosine_with_mean_and_minimum():
    reference = ReferenceAnswers("exact", [vector(1, 0), vector(0, 2)])
    check = compare([vector(2, 0), vector(1, 1)], [None, None], reference, classification=False)
    assert check["mean"] == pytest.approx((1 + math.sqrt(0.5)) / 2, abs=1e-6)
    assert check["minimum"] == pytest.approx(math.sqrt(0.5), abs=1e-6)
    assert (check["count"], check["vectors"], check["invalid"], check["embedding_size"]) == (2, 2, 0, 2)


def test_invalid_embeddings_are_counted_and_not_compared():
    reference = ReferenceAnswers("exact", [vector(1, 0), vector(0, 2)])
    check = compare([Answer(invalid="the status is 500"), vector(0, 1)], [None, None], reference, classification=False)
    assert (check["mean"], check["vectors"], check["invalid"]) == (1.0, 1, 1)
    assert check["problem"] == "the status is 500"


def test_embeddings_of_another_size_have_no_cosine():
    check = compare([vector(1, 0, 0)], [None], ReferenceAnswers("exact", [vector(1, 0)]), classification=False)
    assert check["mean"] is None
    assert "another size" in check["problem"]


def several(*vectors: list[float]) -> Answer:
    return Answer(vector=numpy.array(vectors, dtype=numpy.float32))


def test_several_vectors_an_input_are_counted_and_compared_one_by_one():
    body = '{"data": [{"embedding": [[1, 0, 0], [0, 2, 0]]}]}'
    with EncoderStub(always(200, body)) as stub:
        (answer,) = ask(stub.url, "/embeddings", TASKS["vision_embedding"], "m", ["data:x"])
    given = [answer, several([0, 0, 1], [0, 0, 0], [1, 1, 0])]
    reference = ReferenceAnswers("exact", [several([1, 0, 0], [0, 1, 0]), several([0, 0, 1], [0, 0, 0], [1, 0, 0])])
    check = compare(given, [None, None], reference, classification=False)
    assert check["minimum"] == pytest.approx((1 + math.sqrt(0.5)) / 2, abs=1e-6)  # zeros are padding
    names = ("vectors_per_input_least", "vectors_per_input", "vectors_per_input_most", "embedding_size", "other_shapes")
    assert [check[name] for name in names] == [2, 2.5, 3, 3, 0]


def test_another_number_of_vectors_than_the_reference_has_no_cosine_and_is_counted():
    reference = ReferenceAnswers("exact", [several([1, 0], [0, 1]), several([1, 0])])
    check = compare([several([1, 0]), several([1, 0])], [None, None], reference, classification=False)
    assert (check["mean"], check["other_shapes"]) == (None, 1)
    assert check["problem"] == "embeddings are of another size (1 × 2) than those of the reference, exact (2 × 2)"


def test_several_vectors_come_back_in_their_shape():
    back = decode(json.loads(json.dumps(encode(several([1, 2], [3, 4], [5, 6])))))
    assert back.vector.tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(ValueError, match="vectors of one length"):
        decode({**encode(several([1, 2], [3, 4])), "vectors": 3})


def test_without_a_reference_the_cosine_is_unknown():
    check = compare([vector(1, 0)], [None], None, classification=False)
    assert (check["mean"], check["minimum"], check["reference"], check["vectors"]) == (None, None, None, 1)


def test_labels_give_an_accuracy_beside_that_of_the_reference():
    given_labels = [Answer(label="a"), Answer(label="b"), Answer(invalid="x"), Answer(label="d")]
    reference = ReferenceAnswers("exact", [Answer(label=label) for label in "abcx"])
    check = compare(given_labels, ["a", "x", "c", "d"], reference, classification=True)
    assert (check["accuracy"], check["reference_accuracy"], check["agreement"]) == (0.5, 0.5, 0.5)
    assert (check["labelled"], check["invalid"]) == (4, 1)
    assert check["standard_error"] == pytest.approx(standard_error(2, 4), abs=1e-6)


def test_without_labels_the_accuracy_is_unknown_and_agreement_is_left():
    reference = ReferenceAnswers("exact", [Answer(label="a"), Answer(label="b")])
    check = compare([Answer(label="a"), Answer(label="a")], [None, None], reference, classification=True)
    assert (check["accuracy"], check["reference_accuracy"], check["standard_error"]) == (None, None, None)
    assert check["agreement"] == 0.5


def test_a_reference_that_is_always_right_still_has_a_standard_error():
    assert 0 < standard_error(100, 100) < standard_error(10, 10) < 0.2
    assert standard_error(50, 100) == pytest.approx(0.05, rel=0.05)


def test_the_first_answers_are_kept_exactly():
    content = kept([vector(0.1, -2.5), Answer(invalid="x"), Answer(label="a", scores={"a": 0.5})], 2)
    back = [decode(each) for each in json.loads(json.dumps(content))["answers"]]
    assert back[0].vector.tolist() == vector(0.1, -2.5).vector.tolist()
    assert back[1].invalid == "x"
    assert len(back) == 2


def test_a_reference_file_gives_the_answers_to_these_inputs_in_their_order(tmp_path):
    path = tmp_path / "reference.json"
    write_reference(path, "exact", "embedding", "m", ["a", "b"], [vector(1, 2), vector(3, 4)])
    reference = read_reference(path, ["b", "a"])
    assert [answer.vector.tolist() for answer in reference.answers] == [[3, 4], [1, 2]]
    assert reference.name == "exact"
    with pytest.raises(MatbenchError, match="answers other inputs: 1 of 2"):
        read_reference(path, ["a", "c"])


def test_invalid_answers_are_no_reference(tmp_path):
    with pytest.raises(MatbenchError, match="doesn't answer 'a': the status is 500"):
        write_reference(tmp_path / "r.json", "exact", "embedding", "m", ["a"], [Answer(invalid="the status is 500")])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "are not JSON"),
        ("[]", "holds no reference answers"),
        ('{"version": 1}', "holds no reference answers"),
        ('{"version": 9, "answers": {}}', "has version 9"),
        (
            '{"version": 1, "answers": {"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb": 3}}',
            "is broken",
        ),
        (
            '{"version": 1, "answers": {"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb":'
            ' {"embedding": "AAA="}}}',
            "is broken",
        ),
    ],
)
def test_a_reference_file_that_cannot_be_used_is_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "reference.json"
    path.write_text(content)
    with pytest.raises(MatbenchError, match=sentence):
        read_reference(path, ["a"])
    with pytest.raises(MatbenchError, match="can't be read"):
        read_reference(tmp_path / "absent.json", ["a"])


VECTORS = st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=8)


@given(VECTORS, st.floats(0.01, 100))
def test_a_cosine_does_not_depend_on_length(values, scale):
    one = numpy.array(values, dtype=numpy.float32)
    assume(float(numpy.linalg.norm(one)) > 1e-3)
    assert cosine(one, (one * scale).astype(numpy.float32)) == pytest.approx(1.0, abs=1e-4)
    assert cosine(one, -one) == pytest.approx(-1.0, abs=1e-6)


@given(VECTORS)
def test_any_embedding_comes_back_exactly(values):
    answer = vector(*values)
    assert decode(json.loads(json.dumps(encode(answer)))).vector.tolist() == answer.vector.tolist()
