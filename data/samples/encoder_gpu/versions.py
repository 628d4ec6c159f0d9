"""Print the versions of what serves, as a JSON object."""

import importlib.metadata
import json

print(json.dumps({name: importlib.metadata.version(name) for name in ("torch", "aiohttp")}))
