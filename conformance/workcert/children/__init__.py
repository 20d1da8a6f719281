"""Processes of their own that open the store under test and make calls: for callers in parallel, and to be killed.

`Children` starts them, `Child` is one of them. ``workcert serve`` does the same for drivers in other languages; see
``serve.md`` beside this module.
"""

from workcert.children.disk import DiskTrouble, FailingDisk, cannot_fail
from workcert.children.family import Child, Children, ChildTrouble, cannot
from workcert.children.messages import Died
from workcert.children.recipe import ByName, Recipe
from workcert.children.remote import Remote, RemoteCrash
from workcert.children.worker import WAITED

__all__ = [
    "WAITED",
    "ByName",
    "Child",
    "ChildTrouble",
    "Children",
    "Died",
    "DiskTrouble",
    "FailingDisk",
    "Recipe",
    "Remote",
    "RemoteCrash",
    "cannot",
    "cannot_fail",
]
