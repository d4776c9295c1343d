"""What has to be set before anything is imported."""

import os

# Threads that wait for others would keep a processor busy, and the tests share few.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
