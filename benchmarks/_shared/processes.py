"""Measurements in a process of their own, with one thread."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

CALL = """
import importlib, json, sys
module, name, arguments = json.loads(sys.argv[1])
print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))
"""


def in_process(function, *arguments):
    """Call a function of a module in a new process and return its result."""
    call = json.dumps([function.__module__, function.__name__, arguments])
    return json.loads(run_code(CALL, call))


def run_code(code, *arguments):
    """Run Python code in a new process and return the last line it prints."""
    output = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ).stdout
    return output.splitlines()[-1]


def peak_megabytes():
    """Return the most memory that this process has used so far, on Linux.

    `resource.getrusage` would count the parent's memory before the process started.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def seconds(function, clock=time.perf_counter):
    """Return how long a call takes."""
    start = clock()
    function()
    return clock() - start
