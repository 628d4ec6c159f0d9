"""Machines beside this one, by Dask: connecting to them, and making sure that they are fit for the work."""

from .connection import Cluster as Cluster
from .connection import connected as connected
from .workers import Host as Host
from .workers import Question as Question
from .workers import check as check
