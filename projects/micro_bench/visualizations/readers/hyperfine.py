"""hyperfine --export-json: seconds; the commands of a file are compared, and the runs of a command are its repeats."""

from collections.abc import Iterator

from matrix_benchmarking.store import ArtifactPath, Part, read_json

from . import note_others, number, parameters, repeats, texts_of


def recognises(head: bytes, name: str) -> bool:
    return all(key in head for key in (b'"results"', b'"command"', b'"stddev"', b'"times"'))


def read(file: ArtifactPath) -> Iterator[Part]:
    content = read_json(file)["results"]
    commands = [(result["command"], str(result.get("parameters"))) for result in content]
    texts = texts_of([result.get("parameters") or {} for result in content])
    note_others(file, {"memory_usage_byte"}.intersection(*content[:1]))
    for index, result in enumerate(content):
        settings = {"tool": "hyperfine", "benchmark": file.path.stem, "command": result["command"]}
        settings |= parameters(result.get("parameters"), settings, texts)
        if commands.count(commands[index]) > 1:  # such as one prepared in two ways, of which the file doesn't tell
            settings["place"] = index + 1
        of_cpu = [number(result.get(name)) for name in ("user", "system")]
        known = [part for part in of_cpu if part is not None]
        results = {"cpu_time": sum(known) if len(known) == len(of_cpu) else None}
        samples, codes = result.get("times"), result.get("exit_codes") or []
        if samples:
            runs = repeats(f"{index}", settings, "time", samples, results)
            for at, (part, named, measured) in enumerate(runs):
                first = at * measured["batch"]
                failed = [code for code in codes[first : first + measured["batch"]] if code != 0]
                yield part, named, {**measured, "exit_code": (failed[0] or 1) if failed else 0}
        else:  # --export-json of a tool that keeps no samples
            yield f"{index}", settings, {**results, "time": number(result["mean"])}
