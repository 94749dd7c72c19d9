#!/usr/bin/env python3
"""The programs on the simulator: simulated_test.py BUILD-DIR. What the lessons claim, counted; and what the harness makes
of variants that are wrong on purpose (wrong.cu)."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

build = sys.argv[1]


def simulate(program, *arguments):
    """Exit code, stdout, stderr and the records by variant."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "records.jsonl")
        r = subprocess.run([os.path.join(build, program), "--simulate", "--json", path, *arguments], capture_output=True,
                           text=True, timeout=300, stdin=subprocess.DEVNULL)
        records = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                records = {record["variant"]: record for record in map(json.loads, lines)}
        return r.returncode, r.stdout, r.stderr, records


class Claims(unittest.TestCase):
    def counts(self, program, variant, *arguments):
        code, _, stderr, records = simulate("transpose/" + program, *arguments)
        self.assertEqual(code, 0, stderr)
        record = records[variant]
        self.assertEqual((record["status"], record["simulated"], record["time_ms_mean"]), ("ok", True, None))
        return record["counts"]

    def test_a_column_of_an_unpadded_tile_is_a_32_way_conflict(self):
        self.assertEqual(self.counts("shared", "shared")["shared_load_wavefronts"], 32)
        self.assertEqual(self.counts("shared", "shared")["shared_store_wavefronts"], 1)

    def test_padding_and_swizzle_are_free_of_conflicts(self):
        for program in ("padded", "swizzled"):
            counts = self.counts(program, program)
            self.assertEqual((counts["shared_load_wavefronts"], counts["shared_store_wavefronts"]), (1, 1), program)

    def test_other_paddings_are_not(self):
        self.assertEqual(self.counts("padded", "padded_2")["shared_load_wavefronts"], 2)
        self.assertEqual(self.counts("padded", "padded_4")["shared_load_wavefronts"], 4)

    def test_eight_byte_elements_cost_two_wavefronts_and_the_same_padding_is_right(self):
        for variant, wavefronts in (("unpadded", 32), ("padded", 2), ("padded_2", 4), ("padded_4", 8)):
            counts = self.counts("padded", variant, "--type", "double")
            self.assertEqual(counts["shared_load_wavefronts"], wavefronts, variant)
            self.assertEqual(counts["shared_load_ideal"], 2)
        self.assertEqual(self.counts("swizzled", "swizzled", "--type", "double")["shared_load_wavefronts"], 2)

    def test_coalesced_is_4_sectors_for_32_floats(self):
        reads = self.counts("naive", "coalesced_reads")
        self.assertEqual((reads["global_load_sectors"], reads["global_store_sectors"]), (4, 32))
        writes = self.counts("naive", "coalesced_writes")
        self.assertEqual((writes["global_load_sectors"], writes["global_store_sectors"]), (32, 4))
        shared = self.counts("shared", "shared")
        self.assertEqual((shared["global_load_sectors"], shared["global_store_sectors"]), (4, 4))

    def test_the_unrolled_paddings_hold_for_both_types(self):
        for element, ideal in (("float", 1), ("double", 2)):
            for variant in ("smem_unroll_pad", "rows_per_thread"):
                counts = self.counts("unrolled", variant, "--type", element)
                self.assertEqual(counts["shared_load_wavefronts"], ideal, (variant, element))

    def test_the_top_rung_is_ideal_on_every_side(self):
        for element in ("float", "double"):
            counts = self.counts("vectorized", "vectorized", "--type", element)
            for place in ("shared_load", "shared_store"):
                self.assertEqual(counts[place + "_wavefronts"], counts[place + "_ideal"], (place, element))
            for place in ("global_load", "global_store"):
                self.assertEqual(counts[place + "_sectors"], counts[place + "_ideal"], (place, element))

    def test_explain_names_the_line(self):
        code, stdout, _, _ = simulate("transpose/shared", "--explain")
        self.assertEqual(code, 0)
        self.assertRegex(stdout, r"shared\.cu:\d+  out\[.*tile\[threadIdx\.x\]\[threadIdx\.y\];\n"
                                 r" +shared loads: 32\.00 wavefronts a request \(ideal 1\.00")

    def test_explain_needs_no_check(self):
        self.assertIn("32.00 wavefronts", simulate("transpose/shared", "--explain", "--check", "none")[1])

    def test_what_only_a_gpu_can_run_is_skipped(self):
        code, stdout, stderr, records = simulate("transpose/tma")
        self.assertEqual(code, 77)
        self.assertEqual(records["tma"]["status"], "skipped")
        self.assertIn("needs an sm_90 GPU", records["tma"]["reason"])
        self.assertIn("needs an sm_90 GPU", stderr.splitlines()[-1])
        self.assertIn("skipped", stdout)


class Streams(unittest.TestCase):
    """Order between streams: what the programs do is clean, what they leave out when told to is named."""

    FORGOTTEN = {"kernel_after_in": "The kernel touches memory that cudaMemcpyAsync uses in another stream",
                 "out_after_kernel": "It touches memory that kernel advance uses in another stream",
                 "in_after_kernel": "It touches memory that kernel advance uses in another stream",
                 "kernel_after_out": "The kernel touches memory that cudaMemcpyAsync uses in another stream"}

    def test_each_order_that_is_forgotten_is_named(self):
        for order, said in self.FORGOTTEN.items():
            code, stdout, stderr, records = simulate("streams/callbacks_events", "--forget", order)
            self.assertEqual(code, 1, order)
            self.assertIn("fault: stream order", stderr, order)
            self.assertIn(said, stderr, order)
            self.assertIn("WRONG", stdout, order)
            statuses = {name: record["status"] for name, record in records.items()}
            self.assertEqual(statuses.pop("by_events"), "wrong", order)
            self.assertEqual(set(statuses.values()), {"ok"}, order)  # the others keep it

    def test_nothing_forgotten_is_clean(self):
        code, _, stderr, _ = simulate("streams/callbacks_events")
        self.assertEqual((code, stderr), (0, ""))

    def test_fewer_chunks_than_buffers_need_no_more_than_the_first_orders(self):
        for order in ("in_after_kernel", "kernel_after_out"):
            code, _, stderr, _ = simulate("streams/callbacks_events", "--n", "3000", "--chunk", "1000", "--forget", order)
            self.assertEqual((code, stderr), (0, ""), order)

    def test_the_last_chunk_may_be_short_and_a_chunk_larger_than_the_data(self):
        for size in (("--n", "1001", "--chunk", "1000"), ("--n", "5", "--chunk", "1000000")):
            for program in ("streams/chunked", "streams/callbacks_events"):
                code, _, stderr, records = simulate(program, *size)
                self.assertEqual((code, stderr), (0, ""), (program, size))
                self.assertEqual({record["status"] for record in records.values()}, {"ok"})

    def test_pinned_memory_that_is_not_there_is_77_and_says_so(self):
        for program, option in (("chunked", "--n"), ("overlap", "--n")):
            code, _, stderr, _ = simulate("streams/" + program, "--n", "60G")
            self.assertEqual(code, 77, program)
            self.assertRegex(stderr, r"240\.00 GB of page-locked host memory asked, .* available; ask for less with " + option)

    def test_one_gpu_has_no_peer(self):
        for program in ("streams/peer", "streams/all_reduce"):
            code, _, stderr, records = simulate(program)
            self.assertEqual(code, 77)
            self.assertIn("needs two GPUs; this process sees one", stderr)
            self.assertEqual({record["status"] for record in records.values()}, {"skipped"})

    def test_the_picture_has_a_bar_for_each_stage_of_each_chunk(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "timeline.svg")
            self.assertEqual(simulate("streams/overlap", "--timeline", path, "--variant", "c4_s4")[0], 0)
            with open(path, encoding="utf-8") as file:
                svg = file.read()
            self.assertTrue(svg.startswith("<svg") and svg.endswith("</svg>\n"))
            for title in ("one stream", "four streams", "pageable"):
                self.assertIn(title, svg)
        self.assertEqual(simulate("streams/overlap", "--timeline", "/no/such/directory/x.svg")[0], 2)


class WrongOnPurpose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code, cls.stdout, cls.stderr, cls.records = simulate("tests/wrong", "--rows", "70", "--cols", "100")

    def test_exit_code(self):
        self.assertEqual(self.code, 1)

    def test_the_right_one_runs_all_the_same(self):
        self.assertEqual(self.records["right"]["status"], "ok")
        self.assertEqual(self.records["copy"]["status"], "ok")

    def test_the_wrong_ones_have_no_figures(self):
        for name in ("last_row_missing", "tile_stays_in_place", "race"):
            record = self.records[name]
            self.assertEqual(record["status"], "wrong", name)
            self.assertIsNone(record["counts"], name)
            self.assertIn("WRONG", next(line for line in self.stdout.splitlines() if line.startswith(name + " ")))

    def test_a_missing_row_is_told_by_its_first_cells(self):
        # 70 cells of row 99; poisoned, so NaN.
        self.assertIn("70 of 7000 wrong (70 NaN or infinite): [6930] is ", self.records["last_row_missing"]["reason"])

    def test_the_tutorials_fault_is_hidden_by_one_tile(self):
        code, _, _, records = simulate("tests/wrong", "--n", "32", "--variant", "tile_stays_in_place")
        self.assertEqual((code, records["tile_stays_in_place"]["status"]), (0, "ok"))

    def test_a_race_is_named_with_its_line(self):
        self.assertRegex(self.stderr, r"(?i)race")
        self.assertRegex(self.stderr, r"wrong\.cu:\d+")
        self.assertIn("the simulator found a fault", self.records["race"]["reason"])

    def test_one_wrong_variant_alone(self):
        self.assertEqual(simulate("tests/wrong", "--variant", "last_row_missing")[0], 1)
        self.assertEqual(simulate("tests/wrong", "--variant", "right")[0], 0)

    def test_unchecked_is_not_ok(self):
        code, _, _, records = simulate("tests/wrong", "--variant", "last_row_missing", "--check", "none")
        self.assertEqual((code, records["last_row_missing"]["status"]), (0, "unchecked"))


class Simulated(unittest.TestCase):
    def test_print_shows_both_matrices(self):
        code, stdout, _, _ = simulate("transpose/padded", "--rows", "2", "--cols", "3", "--print", "--variant", "padded")
        self.assertEqual(code, 0)
        lines = stdout[stdout.index("B by padded"):].splitlines()
        a = [line.split() for line in stdout[stdout.index("A\n"):].splitlines()[1:3]]
        self.assertEqual([line.split() for line in lines[1:4]], [list(column) for column in zip(*a)])

    def test_a_missing_library_is_77_and_says_so(self):
        r = subprocess.run([os.path.join(build, "transpose/padded"), "--simulate"], capture_output=True, text=True,
                           env=dict(os.environ, LADDER_SIMULATOR="/no/such/library.so"))
        self.assertEqual(r.returncode, 77)
        self.assertIn("/no/such/library.so", r.stderr)

    def test_out_of_memory_names_what_was_asked_and_the_options(self):
        code, _, stderr, _ = simulate("transpose/padded", "--n", "200000")
        self.assertEqual(code, 77)
        self.assertRegex(stderr, r"GB asked, .* free; ask for less with --n, --rows, --cols")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
