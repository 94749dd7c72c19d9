#!/usr/bin/env python3
"""The programs on the simulator: simulated_test.py BUILD-DIR. What the lessons claim, counted; and what the harness makes
of variants that are wrong on purpose (wrong.cu)."""
import json
import math
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


class Stencil(unittest.TestCase):
    """What stencil/ claims, and what its check rejects."""

    def counts(self, program, variant, *arguments):
        code, _, stderr, records = simulate("stencil/" + program, *arguments)
        self.assertEqual(code, 0, stderr)
        return records[variant]["counts"]

    def statuses(self, *arguments):
        _, _, stderr, records = simulate("tests/wrong_stencil", *arguments)
        self.assertEqual(records["right"]["status"], "ok", stderr)
        return {name for name, record in records.items() if record["status"] == "wrong"}

    def test_the_texts_hole_at_the_left_shows_where_a_block_is_no_longer_than_the_radius(self):
        always = {"one_halo_cell", "swapped"}
        self.assertEqual(self.statuses("--n", "1000", "--radius", "16"), always | {"left_hole"})
        self.assertEqual(self.statuses("--n", "1000", "--radius", "15"), always)

    def test_a_right_halo_behind_the_block_shows_where_n_is_no_multiple_of_it(self):
        for rule in ("zero", "clamp", "periodic"):
            self.assertNotIn("right_of_block", self.statuses("--n", "1008", "--boundary", rule))
            self.assertIn("right_of_block", self.statuses("--n", "1001", "--boundary", rule), rule)
        self.assertIn("right_of_block", self.statuses("--n", "1001", "--boundary", "zero", "--type", "double"))

    def test_a_shifted_warp_touches_a_sector_more_and_l1_absorbs_it(self):
        naive = self.counts("naive_1d", "naive", "--n", "65536")
        self.assertAlmostEqual(naive["global_load_sectors"], 5, delta=0.01)
        self.assertEqual(naive["global_store_sectors"], 4)

    def test_tiles_in_one_dimension_have_no_bank_conflicts(self):
        for variant in ("static_tile", "dynamic_tile", "any_radius"):
            counts = self.counts("shared_1d", variant)
            self.assertEqual((counts["shared_load_wavefronts"], counts["shared_store_wavefronts"]), (1, 1), variant)

    def test_tiles_in_two_and_three_dimensions_have_no_bank_conflicts(self):
        for program, variant in (("star_2d", "shared"), ("box_2d", "shared"), ("star_3d", "plane")):
            counts = self.counts(program, variant)
            self.assertEqual((counts["shared_load_wavefronts"], counts["shared_store_wavefronts"]), (1, 1), program)

    def test_rows_store_whole_packs_and_the_cells_beside_them_are_a_sector_more(self):
        # 16 for 32 packs; the cells before or behind each of them lie in the same sectors, but for one.
        for program in ("star_2d", "box_2d"):
            counts = self.counts(program, "rows_2", "--nx", "512", "--ny", "64")
            self.assertEqual(counts["global_store_sectors"], 16, program)
            self.assertGreater(counts["global_load_sectors"], 16, program)
            self.assertLess(counts["global_load_sectors"], 17, program)

    def test_coefficients(self):
        records = simulate("stencil/coefficients", "--n", "65536")[3]
        sectors = {name: record["counts"]["global_load_sectors"] for name, record in records.items()}
        # Eight cells a thread at 5 sectors a request; constant memory adds no load of global memory, read_only adds four
        # at 1 sector, where lanes want one word or four.
        for place in ("parameter", "constant"):
            for order in ("", "_divergent"):
                self.assertAlmostEqual(sectors[place + order], 5, delta=0.02)
        for order in ("", "_divergent"):
            self.assertAlmostEqual(sectors["read_only" + order], (8 * 5 + 4 * 1) / 12, delta=0.02)
            self.assertEqual(records["shared" + order]["counts"]["shared_load_wavefronts"], 1)

    def test_the_top_rungs_in_1d_move_16_bytes_a_lane(self):
        for element in ("float", "double"):
            for variant in ("vectorized", "shuffled"):
                counts = self.counts("vectorized_1d", variant, "--n", "262144", "--type", element)
                self.assertAlmostEqual(counts["global_store_sectors"], 16, delta=0.4)
            # A pack a lane is 16 sectors; what the warp needs before and behind is one load of a sector each.
            self.assertAlmostEqual(counts["global_load_sectors"], (16 + 1 + 1) / 3, delta=0.1)

    def test_tiles_that_take_several_steps(self):
        records = simulate("stencil/temporal_2d", "--n", "448", "--steps", "8")[3]
        self.assertEqual({record["status"] for record in records.values()}, {"ok"})  # clusters too
        shared = records["shared"]["counts"]
        self.assertEqual((shared["shared_load_wavefronts"], shared["shared_store_wavefronts"]), (1, 1))
        for variant in ("registers", "cluster"):
            counts = records[variant]["counts"]
            # 16 bytes a lane: four wavefronts; two lanes on either side are halo after 8 steps, and store nothing.
            self.assertEqual((counts["shared_load_wavefronts"], counts["shared_store_wavefronts"]), (4, 4), variant)
            self.assertEqual(counts["global_store_sectors"], (32 - 2 * 2) * 16 / 32, variant)

    def test_heat_flows_until_it_is_right(self):
        for element in ("double", "float"):
            records = simulate("stencil/heat", "--n", "12", "--type", element)[3]
            self.assertEqual({record["status"] for record in records.values()}, {"ok"})
            self.assertEqual(records["copy"]["tolerance"], 0)
            for variant in ("one_step", "fused"):
                # Near the grid's own error, and no nearer than it must be: the check is not an empty one.
                bound = math.pi ** 4 / 48 / 11 ** 2
                self.assertGreater(records[variant]["worst_error"], bound / 10, variant)
                self.assertLess(records[variant]["worst_error"], bound, variant)
                self.assertAlmostEqual(records[variant]["tolerance"], 1.1 * bound, delta=1e-4)

    def test_heat_writes_pictures(self):
        with tempfile.TemporaryDirectory() as directory:
            code = simulate("stencil/heat", "--nx", "13", "--ny", "9", "--frames", directory)[0]
            self.assertEqual(code, 0)
            frames = sorted(os.listdir(directory))
            self.assertEqual(frames[0], "heat-000000000.pgm")
            self.assertGreater(len(frames), 1)
            for name in frames:
                with open(os.path.join(directory, name), "rb") as file:
                    picture = file.read()
                header, pixels = picture[:-13 * 9], picture[-13 * 9:]
                self.assertEqual(header, b"P5\n13 9\n255\n")
                self.assertEqual((pixels[6], pixels[0], max(pixels[13 * 8:])), (255, 0, 0))  # warm above, cold below
        self.assertEqual(simulate("stencil/heat", "--n", "5", "--frames", "/no/such/folder")[0], 2)



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
