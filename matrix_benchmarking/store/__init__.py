"""The store: finds tests, reads their artifacts, keeps caches, and gives a matrix of entries."""

from ..settings import load_json, read_key_values
from ..workload import BaseStore, FoundTest, Layout, Listing
from ..yaml_file import load_yaml
from .artifacts import ArtifactPath, TestDirectory, register_important_file
from .cache import COMES_WITH_A_CACHE, can_read_cache
from .documents import (
    config_get,
    ignore_file_not_found,
    parse_test_config,
    parse_test_start_end,
    parse_test_uuid,
    read_json,
    read_namespace,
    read_tail,
    read_text,
    read_yaml,
    understood,
)
from .find import KeyValueLayout, NativeLayout, declared_files, layouts_of
from .readers import Part, Reader, ReaderLayout, reader_store
from .tables import TableReader, written_as_names
from .tree import clean, parse_tree
from .tree_index import read_index

__all__ = [
    "COMES_WITH_A_CACHE",
    "ArtifactPath",
    "BaseStore",
    "FoundTest",
    "KeyValueLayout",
    "Layout",
    "Listing",
    "NativeLayout",
    "Part",
    "Reader",
    "ReaderLayout",
    "TableReader",
    "TestDirectory",
    "can_read_cache",
    "clean",
    "config_get",
    "declared_files",
    "ignore_file_not_found",
    "layouts_of",
    "load_json",
    "load_yaml",
    "parse_test_config",
    "parse_test_start_end",
    "parse_test_uuid",
    "parse_tree",
    "read_index",
    "read_json",
    "read_key_values",
    "read_namespace",
    "read_tail",
    "read_text",
    "read_yaml",
    "reader_store",
    "register_important_file",
    "understood",
    "written_as_names",
]
