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

    def test_the_copy_engines_swizzle_leaves_no_conflicts(self):
        for element in ("float", "double"):
            counts = self.counts("tma", "tma", "--type", element)
            for place in ("shared_load", "shared_store"):
                self.assertEqual((counts[place + "_wavefronts"], counts[place + "_ideal"]), (4, 4), (place, element))

    def test_what_only_a_gpu_can_run_is_skipped(self):
        code, stdout, stderr, records = simulate("tests/not_simulated")
        self.assertEqual(code, 77)
        self.assertEqual(records["wgmma"]["status"], "skipped")
        self.assertIn("needs an sm_90 GPU", records["wgmma"]["reason"])
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
            # The grid's own error, a tenth of it, and the roundings. (What that rejects: stencil_test.cpp.)
            grid_error, unit = math.pi ** 4 / 48 / 11 ** 2, 2.0 ** (-53 if element == "double" else -24)
            for variant in ("one_step", "fused"):
                self.assertAlmostEqual(records[variant]["tolerance"], 1.1 * grid_error + 8 * unit * 11 ** 2 / (8 * 0.2))

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



class MatmulClaims(unittest.TestCase):
    def counts(self, program, *arguments):
        """The counts of all variants that ran."""
        code, _, stderr, records = simulate("matmul/" + program, *arguments)
        self.assertEqual(code, 0, stderr)
        self.assertEqual({r["status"] for r in records.values() if r["role"] != "baseline"}, {"ok"})
        return {name: record["counts"] for name, record in records.items() if record["counts"]}

    def test_a_warp_along_a_row_reads_5_sectors_a_step_and_down_a_column_33(self):
        # Two loads a step. Along a row: one element of A for all, 32 neighbours of B; down a column the other way round,
        # and the 32 elements of A lie in 32 rows.
        counts = self.counts("naive")
        for variant, load, store in (("row_per_warp", 5, 4), ("column_per_warp", 33, 32)):
            self.assertEqual(counts[variant]["global_load_sectors"], load / 2)
            self.assertEqual(counts[variant]["global_store_sectors"], store)

    def test_with_rows_of_1023_floats_a_fifth_sector_is_read_that_the_pitch_saves(self):
        # Rows of 1000 floats start at sectors. (That their sectors lie in two lines of the cache is not counted here.)
        for width, packed in ((1000, False), (1023, True), (1024, False)):
            counts = self.counts("pitched", "--m", "2", "--n", str(width), "--k", str(width))
            for way in ("global_load", "global_store"):
                self.assertEqual(counts["pitched"][way + "_sectors"], counts["pitched"][way + "_ideal"], width)
                more = counts["unpitched"][way + "_sectors"] / counts["pitched"][way + "_sectors"]
                self.assertTrue(1.1 < more <= 1.25 if packed else more == 1, (width, way, more))

    def test_sgemm_takes_small_tiles_for_what_does_not_go_round(self):
        # The simulated GPU has 8 multiprocessors: one large tile for each; two for seven of them and one for the last; a
        # single one; one for each and one more.
        for m, choice in ((512, "large"), (960, "large"), (64, "small"), (576, "both")):
            counts = self.counts("sgemm", "--m", str(m), "--n", "128", "--k", "32")
            same = [name for name in ("tile_64x128", "tile_32x64") if counts["sgemm"] == counts[name]]
            self.assertEqual(same, {"large": ["tile_64x128"], "small": ["tile_32x64"], "both": []}[choice], m)

    def test_a_transposed_tile_costs_32_wavefronts_a_store_and_padded_or_swizzled_one(self):
        counts = self.counts("padded")
        stores = {name: counts[name]["shared_store_wavefronts"] for name in ("transposed", "padded", "swizzled")}
        self.assertEqual(stores, {"transposed": (32 + 1) / 2, "padded": 1, "swizzled": 1})  # A's stores and B's

    def test_results_16_apart_are_read_without_conflicts(self):
        counts = self.counts("register_2d")
        self.assertEqual(counts["neighbours"]["shared_load_wavefronts"], (2 + 4) / 2)  # A's loads and B's
        self.assertEqual(counts["strided"]["shared_load_wavefronts"], 1)
        self.assertEqual((counts["neighbours"]["global_store_sectors"], counts["strided"]["global_store_sectors"]), (32, 4))

    def test_16_bytes_a_load_are_whole_sectors_and_stores_meet_no_bank_twice(self):
        for element in ("float", "double"):
            counts = self.counts("vectorized", "--type", element)["vectorized"]
            for count, ideal in (("global_load_sectors", "global_load_ideal"), ("global_store_sectors", "global_store_ideal"),
                                 ("shared_store_wavefronts", "shared_store_ideal")):
                self.assertEqual(counts[count], counts[ideal], (element, count))
            # A's loads are served in two wavefronts, B's in four, where two would hold its bytes.
            self.assertEqual(counts["shared_load_wavefronts"], (2 + 4) / 2)

    def test_lanes_in_pairs_read_16_bytes_in_two_wavefronts(self):
        counts = self.counts("warptile")
        self.assertEqual(counts["rows"]["shared_load_wavefronts"], (2 + 4) / 2)
        for program, variants in (("warptile", ("pairs", "pairs_16x8")), ("sgemm", ("tile_64x128", "tile_32x64"))):
            for variant in variants:
                self.assertEqual(self.counts(program)[variant]["shared_load_wavefronts"], 2, (program, variant))

    def test_an_old_c_that_is_nan_does_not_show_with_beta_0(self):
        # Every output is poisoned before the launch, so this is what "ok" says at the default sizes; with beta it counts.
        for beta in ("0", "-2"):
            self.counts("tiled", "--m", "20", "--n", "30", "--k", "10", "--beta", beta)

    def test_print_shows_the_product(self):
        code, stdout, _, _ = simulate("matmul/tiled", "--m", "2", "--n", "3", "--k", "2", "--data", "integers", "--print",
                                      "--variant", "tile_8")
        self.assertEqual(code, 0)
        lines = [line.split() for line in stdout.splitlines()[:9]]
        a, b, c = ([[int(x) for x in row] for row in rows] for rows in (lines[1:3], lines[4:6], lines[7:9]))
        self.assertEqual(c, [[sum(a[i][k] * b[k][j] for k in range(2)) for j in range(3)] for i in range(2)])

    def test_folding_is_for_batches_that_share_b(self):
        sizes = ["--m", "20", "--n", "30", "--k", "10", "--batch-count", "4", "--variant", "tiled_folded"]
        for shared, status in (("b", "ok"), ("a", "skipped"), ("none", "skipped")):
            records = simulate("matmul/batched", *sizes, "--broadcast", shared)[3]
            self.assertEqual(records["tiled_folded"]["status"], status, shared)
        sizes[5] = "0"  # k: there is no B
        records = simulate("matmul/batched", *sizes, "--broadcast", "none")[3]
        self.assertEqual(records["tiled_folded"]["status"], "ok")

    def test_host_memory_that_is_not_there_is_77_and_says_so(self):
        # C of 160 GB, and with beta the old one.
        for beta, gigabytes in (("0", 160), ("1", 320)):
            code, _, stderr, _ = simulate("matmul/naive", "--m", "200000", "--n", "200000", "--k", "1", "--beta", beta)
            self.assertEqual(code, 77)
            self.assertRegex(stderr, rf"{gigabytes}\.0\d GB of host memory needed, .* available; ask for less with --mnk, --m, --n, --k")


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

    def test_host_memory_that_is_not_there_is_77_and_says_so(self):
        # Arrays of 240 GB: three and a download; two, the same in pageable memory, and a download.
        for program, gigabytes in (("chunked", 960), ("overlap", 1200)):
            code, _, stderr, _ = simulate("streams/" + program, "--n", "60G")
            self.assertEqual(code, 77, program)
            self.assertRegex(stderr, rf"{gigabytes}\.00 GB of host memory needed, .* available; ask for less with --n")

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


def wavefronts(elements, size):
    """What a request costs: of each part of the warp that is served together (all 32 lanes for 4 bytes, half of them for
    8, a quarter for 16), as many as the busiest bank has different words."""
    lanes, words, total = 128 // size, size // 4, 0
    for part in range(0, 32, lanes):
        banks = {}
        for element in elements[part:part + lanes]:
            for word in range(element * words, element * words + words):
                banks.setdefault(word % 32, set()).add(word)
        total += max(len(wanted) for wanted in banks.values())
    return total


def sectors(words, per_lane=1):
    """How many sectors of 32 bytes hold these words (or runs of words)."""
    return len({(word + k) // 8 for word in words for k in range(per_lane)})


class Memory(unittest.TestCase):
    STEPS = 16

    def records(self, program, *arguments):
        code, _, stderr, records = simulate("memory/" + program, *arguments)
        self.assertEqual(code, 0, stderr)
        for record in records.values():
            self.assertEqual((record["status"], record["time_ms_mean"]), ("ok", None), record["variant"])
        return records

    def check_banks(self, records, elements_of):
        for name, record in records.items():
            elements, size = elements_of(name), {"float": 4, "double": 8, "float4": 16}[record["type"]]
            cost, counts = wavefronts(elements, size), record["counts"]
            self.assertEqual(counts["shared_load_wavefronts"], cost, (name, size))
            # The chain and the stream of loads fill 32 KB, a word a lane; then 32 warps store.
            filled, stored = 2 * 32768 // 4 // 32, 32 * self.STEPS
            self.assertAlmostEqual(counts["shared_store_wavefronts"], (filled + stored * cost) / (filled + stored),
                                   places=9, msg=(name, size))

    def test_every_number_of_ways_is_counted_as_bank_arithmetic_says(self):
        for element in ("float", "double", "float4"):
            def lanes(name):
                ways = int(name.split("_")[1])
                return [lane // ways + lane % ways * 32 for lane in range(32)]
            records = self.records("banks", "--set", "ways", "--type", element, "--steps", str(self.STEPS))
            self.assertEqual(len(records), 32)
            self.check_banks(records, lanes)
            if element == "float":
                for ways in range(1, 33):
                    self.assertEqual(records[f"ways_{ways}"]["counts"]["shared_load_wavefronts"], ways)

    def test_every_stride_is_counted_as_bank_arithmetic_says(self):
        for element in ("float", "double", "float4"):
            records = self.records("banks", "--set", "strides", "--type", element, "--steps", str(self.STEPS))
            self.assertEqual(len(records), 64)
            self.check_banks(records, lambda name: [lane * int(name.split("_")[1]) for lane in range(32)])

    def test_the_texts_table(self):
        for element, parallel, together in (("float", 1, 1), ("double", 2, 1), ("float4", 4, 2)):
            records = self.records("banks", "--type", element)
            def load(name):
                return records[name]["counts"]["shared_load_wavefronts"]
            self.assertEqual(load("parallel"), parallel)
            self.assertEqual((load("broadcast"), load("multicast")), (together, together))
            self.assertEqual(load("serial_32"), 32)
            self.assertEqual(load("column_pad_0"), 32)
            self.assertEqual(load("column_pad_1"), parallel)

    def test_the_bank_size_changes_nothing(self):
        if not os.path.exists(os.path.join(build, "memory/bank_size")):
            self.skipTest("this toolkit has no cudaDeviceSetSharedMemConfig")
        records = self.records("bank_size", "--type", "double")
        for pattern, loads in (("row", 2), ("column", 32)):
            for size in (4, 8):
                self.assertEqual(records[f"{pattern}_{size}_bytes"]["counts"]["shared_load_wavefronts"], loads)

    def test_strides_and_offsets_cost_the_sectors_that_they_touch(self):
        n = 4096
        for kind in ("stride", "offset"):
            records = self.records("coalescing", "--n", str(n), "--set", kind + "s")
            self.assertEqual(len(records), 33)  # and the ceiling
            for name, record in records.items():
                if not name.startswith(kind):
                    continue
                k = int(name.split("_")[1])
                touched = [sectors([i * k if kind == "stride" else i + k for i in range(first, first + 32)])
                           for first in range(0, n, 32)]
                self.assertEqual(record["counts"]["global_load_sectors"], sum(touched) / len(touched), name)
                if kind == "offset":
                    self.assertEqual(touched[0], 4 if k % 8 == 0 else 5)
                else:
                    self.assertEqual(touched[0], min(32, 4 * k))

    def test_wide_reads_and_structs(self):
        records = self.records("coalescing", "--n", "4096")
        for name, count in (("wide_4", 4), ("wide_8", 8), ("wide_16", 16), ("array_of_structs", 32), ("struct_of_arrays", 4)):
            self.assertEqual(records[name]["counts"]["global_load_sectors"], count, name)

    def test_a_warp_branches_once_for_each_path(self):
        rounds, warps = 5, 4
        records = self.records("divergence", "--rounds", str(rounds))
        straight = records["paths_1"]["counts"]["divergent_branches"]
        for name, record in records.items():
            paths = 1 if name == "warps_apart" else int(name.split("_")[1])
            self.assertEqual(record["counts"]["divergent_branches"] - straight,
                             rounds * warps * paths if paths > 1 else 0, name)

    def test_a_variant_of_another_table_runs_where_it_is_named(self):
        self.assertEqual(list(self.records("banks", "--set", "ways", "--variant", "serial_8", "--variant", "stride_3")),
                         ["serial_8", "stride_3"])
        self.assertEqual(list(self.records("coalescing", "--n", "4096", "--variant", "offset_3")), ["wide_16", "offset_3"])

    def test_there_is_nothing_to_print(self):
        code, stdout, stderr, _ = simulate("memory/latency", "--print")
        self.assertEqual((code, stdout), (2, ""))
        self.assertEqual(stderr, "memory/latency: --print: there is nothing to show here\n")

    def test_messages_arrive_and_the_races_are_left_out(self):
        code, _, stderr, records = simulate("memory/fences")
        self.assertEqual(code, 0, stderr)
        for name, record in records.items():
            self.assertEqual(record["status"], "skipped" if name.endswith("_plain") else "ok", name)


class Profile(unittest.TestCase):
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts/profile.py")

    def profile(self, *arguments):
        return subprocess.run([self.script, "--build", build, *arguments], capture_output=True, text=True, timeout=300,
                              env=dict(os.environ, CUDA_VISIBLE_DEVICES=""), check=False)

    def test_transactions_a_request(self):
        r = self.profile("memory/banks", "--variant", "serial_8", "--steps", "64")
        self.assertEqual(r.returncode, 0, r.stderr)
        rows = [line.split() for line in r.stdout.splitlines()]
        stream = next(row for row in rows if row and row[0].startswith("load_stream"))
        self.assertEqual(stream[3], "8.00")

    def test_usage(self):
        self.assertEqual(self.profile().returncode, 2)
        self.assertEqual(self.profile("memory/nothing").returncode, 2)


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
        self.assertRegex(stderr, r"480.00 GB of host memory needed, .* available; ask for less with --n, --rows, --cols")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
