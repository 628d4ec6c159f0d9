"""Command line of the example encoder server: all-MiniLM-L6-v2 behind `POST /v1/embeddings` on 127.0.0.1."""

from __future__ import annotations

import argparse
from pathlib import Path

import litserve
from api import EmbeddingAPI
from model import IMAGES, default_cache_directory, image_file

VERSION = "1.0.0"


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", choices=IMAGES, default="onnx-fp32", help="which ONNX file answers")
    parser.add_argument("--max-batch-size", type=positive, default=8, help="texts in one model call, at most")
    parser.add_argument("--threads", type=positive, default=1, help="ONNX Runtime threads")
    parser.add_argument("--port", type=positive, default=8000, help="TCP port on 127.0.0.1, 1024 to 65535")
    parser.add_argument("--cache-dir", type=Path, default=default_cache_directory(), help="where ONNX files are kept")
    parser.add_argument("--version", action="version", version=VERSION)
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    image_file(options.image, options.cache_dir)
    api = EmbeddingAPI(options.image, options.threads, options.cache_dir, options.max_batch_size)
    # No request timeout: a benchmark wants to see a slow answer as slow, not as a 504.
    server = litserve.LitServer(api, accelerator="cpu", devices=1, workers_per_device=1, timeout=False)
    print(
        f"Serving {options.image} on 127.0.0.1:{options.port}: {options.threads} threads, "
        f"batches of at most {options.max_batch_size}.",
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
