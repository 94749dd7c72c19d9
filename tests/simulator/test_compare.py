#!/usr/bin/env python3
"""Tests of scripts/compare_with_ncu.py and of run_faults.py, without a GPU, a simulator or a program."""
import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts")]
import compare_with_ncu as compare  # noqa: E402
import run_faults  # noqa: E402

HEADER = ('"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",'
          '"Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"')
KERNEL = "void (anonymous namespace)::transposeTiled<(int)1, float>(float *, const float *, int)"


def ncu_text(values, kernels=(KERNEL,)):
    """ncu's output with `values` for the counters in the order of COUNTERS, the same for every kernel."""
    lines = ["==PROF== Connected to process 41 (/tmp/a)", '==PROF== Profiling "transposeTiled": 0%....100% - 2 passes',
             "a line of the program, with \"quotes\"", "==PROF== Disconnected from process 41", HEADER]
    for index, kernel in enumerate(kernels):
        for metric, value in zip(compare.COUNTERS, values):
            lines.append(f'"{index}","41","a","host","{kernel}","1","7","(32, 8, 1)","(2, 2, 1)","0","9.0",'
                         f'"Command line profiler metrics","{metric}","","{value}"')
    return "\n".join(lines) + "\n"


def launch(values, kernel="transposeTiled<1, float>"):
    return {"kernel": kernel, **dict(zip(compare.COUNTERS.values(), values))}


VALUES = [1024, 1024, 4096, 32768, 1024, 1024, 1024, 1024]
TEXTS = ["1,024", "1,024", "4,096", "32,768", "1,024", "1,024", "1,024", "1024"]


class ReadingNcu(unittest.TestCase):
    def test_thousands_and_lines_before(self):
        self.assertEqual(compare.parse_ncu_csv(ncu_text(TEXTS)), [launch(VALUES, KERNEL)])

    def test_order_of_launches(self):
        kernels = [f"k{i}(int)" for i in range(12)]
        read = compare.parse_ncu_csv(ncu_text(TEXTS, kernels))
        self.assertEqual([record["kernel"] for record in read], kernels)

    def test_no_table(self):
        with self.assertRaisesRegex(compare.Failure, "ERR_NVGPUCTRPERM"):
            compare.parse_ncu_csv("==ERROR== ERR_NVGPUCTRPERM\n")

    def test_no_kernels(self):
        self.assertEqual(compare.parse_ncu_csv("==WARNING== No kernels were profiled.\n"), [])

    def test_a_counter_is_missing(self):
        with self.assertRaisesRegex(compare.Failure, "global_store_requests"):
            compare.parse_ncu_csv(ncu_text(TEXTS[:-1]))

    def test_not_a_number_of_events(self):
        with self.assertRaises(compare.Failure):
            compare.number("1.5")

    def test_names(self):
        self.assertEqual(compare.short_name(KERNEL), "transposeTiled<1,float>")
        self.assertEqual(compare.short_name("sharedLoad<float4>"), "sharedLoad<float4>")
        self.assertEqual(compare.short_name("copy(float *, int)"), "copy")


class Comparing(unittest.TestCase):
    def test_equal(self):
        rows = compare.compare("p 64x64", [launch(VALUES, KERNEL)], [launch(VALUES)])
        self.assertEqual(len(rows), 8)
        self.assertEqual(compare.differing(rows), [])

    def test_different(self):
        rows = compare.compare("p", [launch(VALUES, KERNEL)], [launch([1] + VALUES[1:])])
        wrong = compare.differing(rows)
        self.assertEqual([row["counter"] for row in wrong], ["shared_load_wavefronts"])
        report = compare.markdown([("p", rows, False)], [], "an H200")
        self.assertIn("**7 of 8 counters equal**", report)
        self.assertIn("| 1024 | 1 | **no**: not explained |", report)

    def test_explained(self):
        allowed = compare.parse_allowed("# comment\np.*\ttransposeTiled<.*\tshared_load_.*\tptxas merges loads\n")
        rows = compare.compare("p 1x1", [launch(VALUES, KERNEL)], [launch([1, 1] + VALUES[2:])])
        reasons = [compare.reason_for(row, allowed) for row in compare.differing(rows)]
        self.assertEqual(reasons, ["ptxas merges loads", None])

    def test_patterns_compare_their_own_counter(self):
        patterns = [("stride 5", "ld.shared.16"), ("stride 5", "st.global.4")]
        measured = [launch(VALUES, "void sharedLoad<float4>(int, float4 *)"), launch(VALUES, "globalStore(int)")]
        other = [0, 0, 0, 0, 0, 0, 0, 0]
        simulated = [launch([1024] + other[1:], "sharedLoad<float4>"), launch(other, "globalStore")]
        rows = compare.compare("patterns", measured, simulated, patterns)
        self.assertEqual([row["counter"] for row in rows], ["shared_load_wavefronts", "global_store_sectors"])
        self.assertEqual(len(compare.differing(rows)), 1)
        report = compare.markdown([("Single-access patterns", rows, True)], [], "an H200")
        self.assertIn("1 of 2 equal", report)
        self.assertNotIn("ld.shared.16", report)
        self.assertIn("stride 5, st.global.4", report)

    def test_launches_that_do_not_match(self):
        with self.assertRaisesRegex(compare.Failure, "1 launches measured, 0 simulated"):
            compare.compare("p", [launch(VALUES)], [])
        with self.assertRaisesRegex(compare.Failure, "launch 0 is"):
            compare.compare("p", [launch(VALUES, "a(int)")], [launch(VALUES, "b")])

    def test_launch_file_and_data_file(self):
        text = json.dumps({**launch(VALUES), "branches": 3, "launches": 1}) + "\n\n"
        self.assertEqual(compare.parse_launches(text), [launch(VALUES)])
        rows = compare.compare("p 64x64", [launch(VALUES, KERNEL)], [launch(VALUES)])
        read = compare.parse_data(compare.data_tsv(rows))
        self.assertEqual([row["ncu"] for row in read], VALUES)
        self.assertEqual(read[0]["kernel"], "transposeTiled<1,float>")


class JudgingFaults(unittest.TestCase):
    EXPECTED = run_faults.expected_faults("# comment\na-b\t(?i)race\tfaults\\.cu:LINE\nleak\t(?i)leak\t-\n",
                                          run_faults.marked_lines("x;\ny;  // fault: a-b\nz;  // fault: a-b\n"))

    def test_marked_lines(self):
        kind, place = self.EXPECTED["a-b"]
        self.assertIsNone(run_faults.judge(1, "Race at faults.cu:3", (kind, place)))
        self.assertIn("nothing", run_faults.judge(1, "race at faults.cu:31", (kind, place)))
        self.assertIn("nothing", run_faults.judge(1, "out of bounds at faults.cu:2", (kind, place)))
        self.assertIn("exit 0", run_faults.judge(0, "race at faults.cu:2", (kind, place)))

    def test_without_a_line(self):
        self.assertIsNone(run_faults.judge(1, "leak of 16 bytes", self.EXPECTED["leak"]))

    def test_correct_programs_are_silent(self):
        self.assertIsNone(run_faults.judge(0, "", None))
        self.assertEqual(run_faults.judge(0, "race", None), "a false alarm")
        self.assertIn("exit 1", run_faults.judge(1, "", None))

    def test_every_row_has_its_mark(self):
        lines = run_faults.marked_lines((HERE / "programs" / "faults.cu").read_text())
        expected = run_faults.expected_faults((HERE / "faults_expected.tsv").read_text(), lines)
        self.assertEqual(set(lines) - set(expected), set())


if __name__ == "__main__":
    unittest.main()
