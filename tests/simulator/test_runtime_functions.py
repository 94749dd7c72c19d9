#!/usr/bin/env python3
"""Fails where the toolkit's CUDA runtime exports a function that the simulator does not have.

    test_runtime_functions.py LIBCUDART SIMULATOR [--nm NM]

Such a function would run in the real library, which lies behind the simulator, against no device.
"""
import argparse
import re
import subprocess
import sys


def functions(nm, library):
    """The names of the runtime's functions that a library exports, without their versions."""
    listing = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" [TWi] ((?:__)?cuda\w+)", listing))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runtime", metavar="LIBCUDART")
    parser.add_argument("simulator", metavar="SIMULATOR")
    parser.add_argument("--nm", default="nm")
    options = parser.parse_args()
    exported = functions(options.nm, options.runtime)
    if "cudaMalloc" not in exported:
        print(f"{options.runtime} exports no cudaMalloc: this is not the CUDA runtime", file=sys.stderr)
        return 1
    missing = sorted(exported - functions(options.nm, options.simulator))
    for name in missing:
        print(f"the simulator lacks {name}")
    print(f"{len(exported) - len(missing)} of the runtime's {len(exported)} functions are there")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
