"""Command line of the example encoder server: one of three tasks of an encoder behind HTTP on 127.0.0.1."""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import litserve
from answers import invalid_request
from fastapi.exceptions import RequestValidationError
from onnx_files import default_cache_directory
from releases import CURRENT as VERSION
from releases import numbers

TASKS = ("embedding", "classification", "vision_embedding")


@dataclass(frozen=True)
class Task:
    """The images that a task may be served with, how their ONNX files are built, and the API that answers."""

    images: tuple[str, ...]
    image_file: Callable[[str, Path], Path]
    api: Callable[[str, int, Path, int, float], litserve.LitAPI]


def load_task(name: str, release: str = VERSION) -> Task:
    """Import what the task `name` needs, and only that: no task needs the packages of another."""
    if name == "embedding":
        import model
        from api import EmbeddingAPI

        return Task(model.IMAGES, model.image_file, functools.partial(EmbeddingAPI, release=release))
    import digits_model
    from digits_api import ClassificationAPI, VisionEmbeddingAPI

    api = ClassificationAPI if name == "classification" else VisionEmbeddingAPI
    return Task(digits_model.IMAGES, digits_model.image_file, api)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not 0 or more")
    return number


def known_release(text: str) -> str:
    try:
        numbers(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def parse_options() -> tuple[argparse.Namespace, Task]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=TASKS, default="embedding", help="what is served, and on which route")
    parser.add_argument("--image", default="onnx-fp32", help="which of the task's ONNX files answers")
    parser.add_argument("--max-batch-size", type=positive, default=8, help="inputs in one model call, at most")
    parser.add_argument(
        "--batch-timeout", type=seconds, default=0.0, help="seconds to wait for more inputs while a batch isn't full"
    )
    parser.add_argument("--workers", type=positive, default=1, help="processes that each answer with the model")
    parser.add_argument("--threads", type=positive, default=1, help="ONNX Runtime threads of each worker")
    parser.add_argument("--port", type=positive, default=8000, help="TCP port on 127.0.0.1, 1024 to 65535")
    parser.add_argument("--cache-dir", type=Path, default=default_cache_directory(), help="where ONNX files are kept")
    parser.add_argument(
        "--release", type=known_release, default=VERSION, help="which release to play, of embedding only"
    )
    parser.add_argument("--version", action="version", version=VERSION)
    options = parser.parse_args()
    task = load_task(options.task, options.release)
    if options.image not in task.images:
        parser.error(f"--image {options.image}: the images of task {options.task} are {', '.join(task.images)}")
    return options, task


def main() -> None:
    options, task = parse_options()
    task.image_file(options.image, options.cache_dir)
    api = task.api(options.image, options.threads, options.cache_dir, options.max_batch_size, options.batch_timeout)
    # No request timeout: a benchmark wants to see a slow answer as slow, not as a 504.
    server = litserve.LitServer(api, accelerator="cpu", devices=1, workers_per_device=options.workers, timeout=False)
    server.app.add_exception_handler(RequestValidationError, invalid_request)
    print(
        f"Serving {options.task} with {options.image} on 127.0.0.1:{options.port}: {options.workers} workers of "
        f"{options.threads} threads, batches of at most {options.max_batch_size}, timeout {options.batch_timeout:g} s.",
        flush=True,
    )
    server.run(
        host="127.0.0.1",
        port=options.port,
        num_api_servers=1,
        log_level="warning",
        generate_client_file=False,
    )


if __name__ == "__main__":
    main()
