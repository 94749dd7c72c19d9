#!/usr/bin/env python3
"""planted_test.py BUILD [--gpu]: each fault of planted.cu is found, for the right reason, and ends no other variant.

Under the simulator, or with --gpu on the GPU."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = sys.argv.pop(1)
GPU = "--gpu" in sys.argv
if GPU:
    sys.argv.remove("--gpu")

# variant: status, and what its reason says. The GPU does not tell what an unordered stream does, nor what lies past the end.
EXPECTED = {
    "right": ("ok", ""),
    "nothing": ("wrong", "1000 NaN or infinite"),
    "half": ("wrong", "500 of 1000 wrong"),
    "stale_last": ("wrong", "1 of 1000 wrong"),
    "not_a_number": ("wrong", "NaN"),
    "infinite": ("wrong", "infinite"),
    "compares_nothing": ("wrong", "nothing was compared"),
    "compares_constants": ("wrong", "its check passes on a poisoned output"),
    "block_too_large": ("failed", "cudaErrorInvalid"),
    "grid_too_high": ("failed", "cudaErrorInvalid"),
    "too_much_shared": ("failed", "cudaErrorInvalid"),
    "side_stream": ("wrong", ""),
    "fork_no_join": ("wrong", ""),
    "first_launch_only": ("wrong", "after the timing" if GPU else "the second launch"),
    "every_second": ("wrong", "" if GPU else "the second launch"),
    "skips_if_done": ("wrong", "it does not do the work again"),
    "throws": ("failed", "the library said no"),
    "out_of_memory": ("failed", "asked"),
    "error_left_behind": ("failed", "cudaErrorMemoryAllocation"),
    "cannot": ("skipped", "this GPU lacks it"),
    "library": ("ok", ""),
}
CELLS = "67108864" if GPU else "1000"


def run(*variants, options=()):
    """Exit code, records and the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records.jsonl")
        command = [f"{BUILD}/tests/planted", "--n", CELLS, "--json", path, *options]
        command += ["--repeats", "7", "--warmup", "5"] if GPU else ["--simulate"]
        if variants:
            command += ["--variant", *variants]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        with open(path, encoding="utf-8") as lines:
            return result.returncode, {r["variant"]: r for r in map(json.loads, lines)}, result.stdout + result.stderr


class Planted(unittest.TestCase):
    def test_each_fault_is_found_for_its_reason_and_ends_no_other_variant(self):
        code, records, text = run(*EXPECTED)
        self.assertEqual(code, 1)
        self.assertEqual(list(records), list(EXPECTED))
        for variant, (status, reason) in EXPECTED.items():
            with self.subTest(variant):
                self.assertEqual(records[variant]["status"], status, records[variant]["reason"])
                if not GPU or "1000" not in reason:
                    self.assertIn(reason, records[variant]["reason"] or "")
                if status != "ok":
                    self.assertIn(f"{variant}: ", text)
                self.assertEqual(records[variant]["time_ms_mean"] is not None, GPU and status == "ok")

    def test_a_lost_gpu_leaves_table_and_records(self):
        code, records, text = run("right", "illegal_address", "after")
        self.assertEqual(code, 1)
        self.assertEqual({v: r["status"] for v, r in records.items()},
                         {"right": "ok" if not GPU else "not run", "illegal_address": "failed", "after": "not run"})
        self.assertIn("cudaErrorIllegalAddress", records["illegal_address"]["reason"])
        self.assertIn("after: not run: the GPU could not be used after illegal_address", text)
        self.assertTrue(all(r["time_ms_mean"] is None for r in records.values()))

    def test_the_worst_verdict_wins(self):
        self.assertEqual(run("right")[0], 0)
        for bad in ("half", "throws", "out_of_memory", "block_too_large", "error_left_behind"):
            for others in (("right",), ("cannot",), ("out_of_memory",), ("right", "cannot", "library")):
                with self.subTest(bad=bad, others=others):
                    self.assertEqual(run(bad, *others)[0], 1)

    def test_nothing_ran_is_no_success(self):
        self.assertEqual(run("cannot")[0], 77)
        self.assertEqual(run("cannot", "library")[0], 77)
        self.assertEqual(run("library")[0], 0)
        self.assertEqual(run("right", "cannot")[0], 0)

    def test_quiet_says_why_it_fails(self):
        self.assertIn("half: wrong: ", run("half", options=["--quiet"])[2])


if __name__ == "__main__":
    unittest.main()
