#!/usr/bin/env python3
"""The command line of every program, without a GPU: command_line_test.py BUILD-DIR PROGRAM..."""
import os
import subprocess
import sys
import tempfile
import unittest

build, programs = sys.argv[1], sys.argv[2:]
# No device, wherever the tests run: CUDA_VISIBLE_DEVICES hides one that is there.
environment = dict(os.environ, CUDA_VISIBLE_DEVICES="")


def run(program, *arguments):
    return subprocess.run([os.path.join(build, program), *arguments], capture_output=True, text=True, timeout=60,
                          env=environment, stdin=subprocess.DEVNULL)


class EveryProgram(unittest.TestCase):
    def each(self, *arguments):
        for program in programs:
            with self.subTest(program=program, arguments=arguments):
                yield program, run(program, *arguments)

    def test_help_needs_no_gpu(self):
        for program, r in self.each("--help"):
            self.assertEqual(r.returncode, 0)
            self.assertIn(program, r.stdout)
            self.assertIn("--simulate", r.stdout)
            self.assertEqual(r.stderr, "")

    def test_list_names_the_variants(self):
        for program, r in self.each("--list"):
            self.assertEqual(r.returncode, 0)
            rows = [line.split(maxsplit=2) for line in r.stdout.splitlines()]
            self.assertGreaterEqual(len(rows), 1)
            for _, role, note in rows:
                self.assertIn(role, ("rung", "ceiling", "baseline"))
                self.assertGreater(len(note), 5)

    def test_sizes_for_the_scripts(self):
        for which, least in (("sweep", 2), ("test", 5)):
            for program, r in self.each("--sizes", which):
                self.assertEqual(r.returncode, 0)
                lines = r.stdout.splitlines()
                self.assertGreaterEqual(len(lines), least)
                for line in lines:
                    # Known options all: with --help behind them they are read and not run.
                    self.assertEqual(run(program, *line.split(), "--help").returncode, 0, line)

    def test_no_device_is_77_with_a_hint(self):
        for program, r in self.each():
            self.assertEqual(r.returncode, 77)
            self.assertIn("--simulate", r.stderr)
            self.assertEqual(r.stdout, "")

    def test_usage_errors_are_2_and_one_line(self):
        for arguments in (["--nonsense"], ["stray"], ["--repeats", "0"], ["--repeats", "x"], ["--seed", "-1"],
                          ["--type", "quaternion"], ["--variant", "nobody"], ["--check", "maybe"], ["--json"],
                          ["--repeats", "1", "--repeats", "2"], ["--batch", "0"], ["--explain"]):
            for program, r in self.each(*arguments):
                self.assertEqual(r.returncode, 2)
                self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
                self.assertTrue(r.stderr.startswith(program + ": "), r.stderr)
                self.assertEqual(r.stdout, "")


class Transpose(unittest.TestCase):
    def test_an_empty_matrix_is_nothing_to_do(self):
        for arguments in (["--n", "0"], ["--rows", "0", "--cols", "5"], ["--rows", "5", "--cols", "0"]):
            r = run("transpose/padded", *arguments)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertIn("nothing to do", r.stdout)

    def test_sizes_out_of_range(self):
        for size in ("-1", "2000000001", "1e3", "99999999999999999999", "1.5", ""):
            r = run("transpose/padded", "--rows", size)
            self.assertEqual(r.returncode, 2, size)
            self.assertIn("--rows: '%s' is not a whole number from 0 to 2000000000" % size, r.stderr)

    def test_n_stands_for_both_sides(self):
        self.assertEqual(run("transpose/padded", "--n", "3", "--rows", "4").returncode, 2)

    def test_print_is_for_small_matrices(self):
        r = run("transpose/padded", "--print")
        self.assertEqual(r.returncode, 2)
        self.assertIn("16", r.stderr)

    def test_a_usage_error_loses_no_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "records.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.write("precious")
            self.assertEqual(run("transpose/padded", "--json", path, "--nonsense").returncode, 2)
            self.assertEqual(run("transpose/padded", "--json", path).returncode, 77)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "precious")


class Stencil(unittest.TestCase):
    def test_an_empty_domain_is_nothing_to_do(self):
        for arguments in (["--n", "0"], ["--n", "0", "--boundary", "periodic"]):
            r = run("stencil/naive_1d", *arguments)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertIn("nothing to do", r.stdout)

    def test_what_is_out_of_range_names_the_option_and_what_it_takes(self):
        for option, value, allowed in (("--radius", "0", "from 1 to 16"), ("--radius", "17", "from 1 to 16"),
                                       ("--n", "-1", "from 0 to 34359738368"), ("--boundary", "wall", "periodic")):
            r = run("stencil/naive_1d", option, value)
            self.assertEqual(r.returncode, 2, (option, value))
            self.assertIn(option, r.stderr)
            self.assertIn(allowed, r.stderr)
        self.assertEqual(run("stencil/coefficients", "--radius", "9").returncode, 2)

    def test_print_is_for_small_domains(self):
        r = run("stencil/naive_1d", "--print")
        self.assertEqual(r.returncode, 2)
        self.assertIn("256", r.stderr)


class Matmul(unittest.TestCase):
    def test_no_cell_of_c_is_nothing_to_do(self):
        for arguments in (["--mnk", "0"], ["--m", "0"], ["--n", "0"]):
            r = run("matmul/naive", *arguments)
            self.assertEqual((r.returncode, r.stderr), (0, ""))
            self.assertIn("nothing to do", r.stdout)
        self.assertIn("nothing to do", run("matmul/batched", "--batch-count", "0").stdout)

    def test_a_leading_dimension_is_no_less_than_the_width(self):
        for option, width in (("--lda", 7), ("--ldb", 6), ("--ldc", 6)):
            r = run("matmul/naive", "--m", "5", "--n", "6", "--k", "7", option, str(width - 1))
            self.assertEqual(r.returncode, 2)
            self.assertEqual(r.stderr, f"matmul/naive: {option}: {width - 1} is less than the width, {width}\n")
            self.assertEqual(run("matmul/naive", "--m", "5", "--n", "6", "--k", "7", option, str(width)).returncode, 77)

    def test_factors_are_finite_numbers(self):
        for factor in ("nan", "inf", "x", "", "1e7"):
            r = run("matmul/naive", "--beta", factor)
            self.assertEqual(r.returncode, 2)
            self.assertIn("--beta: '%s' is not a number from -1000000 to 1000000" % factor, r.stderr)

    def test_batches_are_for_the_program_of_batches(self):
        self.assertEqual(run("matmul/naive", "--batch-count", "2").returncode, 2)
        self.assertEqual(run("matmul/batched", "--batch-count", "2").returncode, 77)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
