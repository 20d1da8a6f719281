"""Every benchmark of the project, one after the other: ``python conformance/bench/run_all.py``.

The exit code is 1 if one of them misses its bar.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
FOLDERS = (HERE.parent, HERE.parents[2] / "impl" / "bench")


def main() -> int:
    missed = []
    for script in sorted(script for folder in FOLDERS for script in folder.glob("bench_*.py")):
        print(f"== {script.name}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            missed.append(script.name)
    print(f"missed: {', '.join(missed)}" if missed else "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
