#!/usr/bin/env python3
"""The scripts: tables from records, and how the sweep and the demo treat what fails."""
import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tables = [sys.executable, os.path.join(root, "scripts/tables.py")]


def state(pid):
    """A process's state by the kernel's letter; Z or X where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(") ")[2]
    except FileNotFoundError:
        return "X"


def record(**changes):
    base = dict(family="transpose", program="padded", variant="padded", role="rung", note="a note",
                problem={"rows": 64, "cols": 32}, headline="64 x 32 float", type="float", status="ok", ceiling="copy", time_ms_mean=0.5, time_ms_median=0.5,
                time_ms_stddev=0.01, rates={"GB/s": 1234.4}, l2_resident=False, fraction_of_ceiling=0.75,
                fraction_low=0.74, fraction_high=0.76, speedup_over_baseline=None, simulated=False, counts=None, figures=None, gpu="A GPU",
                driver="13.0", runtime="13.0", compiler="nvcc", revision="abc", date="2026-01-02T03:04:05Z")
    return json.dumps({**base, **changes}) + "\n"


class Tables(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.records = os.path.join(self.directory.name, "r.jsonl")
        self.page = os.path.join(self.directory.name, "p.md")
        with open(self.records, "w", encoding="utf-8") as file:
            file.write(record(variant="copy", role="ceiling", fraction_of_ceiling=1.0))
            file.write(record())
            file.write(record(variant="geam", role="baseline"))
            file.write(record(problem={"rows": 1, "cols": 1}, headline="1 x 1 float", status="wrong", time_ms_mean=None, time_ms_stddev=None,
                              fraction_of_ceiling=None, fraction_low=None, fraction_high=None))
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("before\n<!-- table: transpose rows=64 type=float -->\nold\n<!-- /table -->\nafter\n"
                       "<!-- table: transpose -->\n<!-- /table -->\n")

    def tearDown(self):
        self.directory.cleanup()

    def run_tables(self, *arguments):
        return subprocess.run([*tables, self.records, *arguments], capture_output=True, text=True, check=False)

    def test_write_then_check(self):
        self.assertEqual(self.run_tables("--check", self.page).returncode, 1)
        self.assertEqual(self.run_tables("--write", self.page).returncode, 0)
        self.assertEqual(self.run_tables("--check", self.page).returncode, 0)
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| padded | padded | a note | 0.5000 ± 0.0100 | 1234 | 75.0 ± 1.0 |", text)
        self.assertIn("| padded | padded | 75.0 ± 1.0 | WRONG |", text)
        self.assertIn("64 x 32 float; A GPU", text)
        self.assertTrue(text.startswith("before\n") and "\nafter\n" in text and "old" not in text)

    def test_updates_and_steps_have_columns_where_there_are_any_and_a_baseline_too(self):
        with open(self.records, "w", encoding="utf-8") as file:
            file.write(record(variant="copy", role="ceiling", rates={"GB/s": 4937.6, "GPt/s": 154.3}, steps=1, fraction_of_ceiling=1.0))
            file.write(record(rates={"GB/s": 1234.4, "GPt/s": 617.2}, steps=4, fraction_of_ceiling=3.0, fraction_low=2.9, fraction_high=3.1))
        self.run_tables("--write", self.page)
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| time (ms) | GB/s | GPt/s | steps | % of copy |\n", text)
        self.assertIn("| padded | padded | a note | 0.5000 ± 0.0100 | 1234 | 617.2 | 4 | 300.0 ± 10.0 |\n", text)

    def test_where_operations_count_the_rate_is_that_of_operations(self):
        with open(self.records, "w", encoding="utf-8") as file:
            file.write(record(rates={"TFLOP/s": 12.34}))
        self.run_tables("--write", self.page)
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| time (ms) | TFLOP/s |", text)
        self.assertIn("| 0.5000 ± 0.0100 | 12.34 |", text)

    def test_a_wrong_result_has_no_row_in_the_ladder(self):
        self.run_tables("--write", self.page)
        with open(self.page, encoding="utf-8") as file:
            ladder = file.read().split("after")[0]
        self.assertNotIn("WRONG", ladder)

    def fill(self, marker, *records):
        with open(self.records, "w", encoding="utf-8") as file:
            file.writelines(records)
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(f"<!-- table: {marker} -->\n<!-- /table -->\n")
        self.assertEqual(self.run_tables("--write", self.page).returncode, 0)
        with open(self.page, encoding="utf-8") as file:
            return file.read()

    def test_columns_that_only_some_families_have(self):
        text = self.fill("transpose rows=64", record(speedup_over_baseline=1.25), record(host_time_ms_median=0.6, fraction_of_model=0.98))
        self.assertIn("| time (ms) | by the host's clock | GB/s | % of copy | % of the model | times the baseline |", text)
        self.assertIn("0.5000 ± 0.0100 |  | 1234 | 75.0 ± 1.0 |  | 1.250 |", text)
        self.assertIn("0.5000 ± 0.0100 | 0.6000 | 1234 | 75.0 ± 1.0 | 98.0 |  |", text)

    def test_items_have_a_time_each(self):
        text = self.fill("transpose rows=64", record(rates={"us/kernel": 1.5}))
        self.assertIn("| us/kernel |", text)
        self.assertIn("0.5000 ± 0.0100 | 1.500 |", text)

    def test_every_ceiling_has_a_row_once(self):
        text = self.fill("transpose rows=64", record(variant="in", role="ceiling"), record(variant="out", role="ceiling"), record(),
                         record(program="shared", variant="in", role="ceiling"))
        self.assertEqual((text.count("| in |"), text.count("| out |")), (1, 1))

    def test_a_table_has_one_ceiling(self):
        slow = dict(program="shared", variant="copy", role="ceiling", time_ms_median=0.5, fraction_of_ceiling=1.0)
        fast = dict(program="padded", variant="copy", role="ceiling", time_ms_median=0.4, fraction_of_ceiling=1.0)
        text = self.fill("transpose rows=64", record(**slow), record(program="shared", variant="shared"), record(**fast), record())
        rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
        self.assertEqual([(row[0], row[1], row[5].rstrip(" |")) for row in rows],
                         [("| padded", "copy", "100.0 (others: from 80.0)"),  # the fastest stands for all
                          ("| shared", "shared", "60.0 ± 0.8"),               # 75 % of one that took 1.25 times as long
                          ("| padded", "padded", "75.0 ± 1.0")])

    def test_a_figure_at_all_sizes(self):
        text = self.fill("transpose program=padded show=rate", record(variant="in", role="ceiling", rates={"GB/s": 12.34}), record(),
                         record(headline="1 x 1 float", rates={"GB/s": None}, status="skipped"), record(program="shared"))
        self.assertIn("| program | variant | 64 x 32 float | 1 x 1 float |", text)
        self.assertIn("| padded | in | 12.34 |  |", text)
        self.assertIn("| padded | padded | 1234 | skipped |", text)
        self.assertNotIn("shared", text)

    def test_the_summary_has_a_table_for_programs_of_the_same_sizes(self):
        with open(self.records, "a", encoding="utf-8") as file:
            file.write(record(program="other", headline="7 x 7 float"))
        out = self.run_tables().stdout
        self.assertIn("| program | variant | 64 x 32 float | 1 x 1 float |", out)
        self.assertIn("| program | variant | 7 x 7 float |", out)

    def test_figures_that_a_program_measured_itself(self):
        def own(variant, latency, **changes):
            figures = {"latency": {"unit": "cycles", "value": latency, "low": latency, "high": latency + 1,
                                   "beyond_limit": latency < 1}}
            return record(family="memory", program="banks", variant=variant, rates={}, ceiling=None,
                          fraction_of_ceiling=None, figures=figures, problem={"set": "ways"}, **changes)
        with open(self.records, "a", encoding="utf-8") as file:
            file.writelines(own(f"ways_{n}", 23.0 + 2 * n) for n in range(1, 7))
            file.write(own("far", 0.5))
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("<!-- table: memory program=banks set=ways -->\n<!-- /table -->\n"
                       'ratio <!-- value: memory/banks/ways_5 "latency" / memory/banks/ways_1 "latency" set=ways -->?<!-- /value -->;'
                       'line <!-- value: memory/banks/ways_* "latency" -->?<!-- /value -->;'
                       'time <!-- value: memory/banks/ways_2 "time_ms_mean" -->?<!-- /value -->;'
                       'none <!-- value: memory/banks/nobody "latency" -->?<!-- /value -->;')
        self.assertEqual(self.run_tables("--check", self.page).returncode, 1)
        self.assertEqual(self.run_tables("--write", self.page).returncode, 0)
        self.assertEqual(self.run_tables("--check", self.page).returncode, 0)
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| variant | what it shows | latency (cycles) |\n", text)
        self.assertIn("| ways_5 | a note | 33.00 ± 0.50 |", text)
        self.assertIn("| far | a note | 0.50 ± 0.50 (beyond the limit) |", text)
        for marked in ("-->1.3<!--", "-->2.000 ± 0.000<!--", "-->0.5<!--", "-->(no records)<!--"):
            self.assertIn(marked, text)
        self.assertIn("## memory", self.run_tables().stdout)

    def test_a_figure_against_a_size(self):
        with open(self.records, "a", encoding="utf-8") as file:
            for size in (4096, 64):
                for variant in ("shared", "global"):
                    latency = {"unit": "cycles", "value": size / 64 + len(variant), "low": None, "high": None,
                               "beyond_limit": False}
                    file.write(record(family="memory", program="latency", variant=variant, rates={}, ceiling=None,
                                      fraction_of_ceiling=None, figures={"latency": latency}, problem={"bytes": size}))
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("<!-- table: memory program=latency by=bytes figure=latency -->\n<!-- /table -->\n")
        self.assertEqual(self.run_tables("--write", self.page).returncode, 0)
        with open(self.page, encoding="utf-8") as file:
            self.assertIn("| bytes | shared | global |\n|---|---|---|\n| 64 | 7 | 7 |\n| 4096 | 70 | 70 |\n\nA GPU",
                          file.read())

    def test_a_slope_has_the_interval_of_its_fit(self):
        # Four degrees of freedom: t = 2.776.
        sys.path.insert(0, os.path.join(root, "scripts"))
        import tables as module
        points = [(0, 1), (1, 0), (2, 2), (3, 3), (4, 3), (5, 6)]
        n, x, y = 6, 2.5, 2.5
        rise = sum((a - x) * (b - y) for a, b in points) / 17.5
        rest = sum((b - y - rise * (a - x)) ** 2 for a, b in points)
        value, error = map(float, module.slope(points).split(" ± "))
        self.assertAlmostEqual(value, rise, places=3)
        self.assertAlmostEqual(error, 2.776 * (rest / (n - 2) / 17.5) ** 0.5, delta=0.02)
        self.assertEqual(module.slope(points[:5]), "(no records)")

    def test_summary(self):
        r = self.run_tables()
        self.assertEqual(r.returncode, 0)
        self.assertIn("## transpose", r.stdout)


class Sweep(unittest.TestCase):
    """run_all.sh over a build directory of pretended programs."""

    def sweep(self, programs, *arguments):
        with tempfile.TemporaryDirectory() as build:
            os.mkdir(os.path.join(build, "f"))
            with open(os.path.join(build, "programs.txt"), "w", encoding="utf-8") as file:
                file.writelines(f"f/{name}\n" for name in programs)
            for name, body in programs.items():
                path = os.path.join(build, "f", name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write('#!/bin/bash\n[[ $* == *--sizes* ]] && { echo "--n 1"; exit; }\n'
                               'for i; do [[ $before == --json ]] && out=$i; before=$i; done\n' + body)
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            out = os.path.join(build, "out")
            r = subprocess.run([os.path.join(root, "scripts/run_all.sh"), "--no-build", "--build", build, "--out", out,
                                *arguments], capture_output=True, text=True, timeout=120, check=False)
            lines = []
            if os.path.isdir(out):
                for name in os.listdir(out):
                    if name.endswith(".jsonl"):
                        with open(os.path.join(out, name), encoding="utf-8") as file:
                            lines = file.readlines()
            return r, lines

    good = f"echo '{record().strip()}' > \"$out\"\n"

    def test_all_right(self):
        r, lines = self.sweep({"a": self.good, "b": self.good})
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("2 runs passed, 0 failed, 0 skipped", r.stdout)
        self.assertEqual(len(lines), 2)

    def test_a_fault_in_one_does_not_end_the_others(self):
        r, lines = self.sweep({"a": "kill -SEGV $$\n", "b": self.good, "c": "exit 1\n"})
        self.assertEqual(r.returncode, 1)
        self.assertIn("1 runs passed, 2 failed, 0 skipped", r.stdout)
        self.assertIn("FAILED: f/a", r.stdout)
        self.assertEqual(len(lines), 1)

    def test_no_record_is_a_failure(self):
        r, _ = self.sweep({"a": "exit 0\n"})
        self.assertEqual(r.returncode, 1)

    def test_skips_are_listed_and_nothing_run_is_77(self):
        r, _ = self.sweep({"a": "echo 'no GPU' >&2; exit 77\n"})
        self.assertEqual(r.returncode, 77)
        self.assertIn("skipped: f/a", r.stdout)
        self.assertIn("no GPU", r.stdout)
        self.assertIn("0 runs passed, 0 failed, 1 skipped", r.stdout)

    def test_no_programs_is_no_success(self):
        self.assertEqual(self.sweep({})[0].returncode, 77)
        self.assertEqual(self.sweep({"a": self.good}, "--family", "nothing")[0].returncode, 2)

    def pretend(self, build, programs):
        """A build directory of pretended programs: {"f/a": the shell script's end}."""
        with open(os.path.join(build, "programs.txt"), "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in programs)
        for name, body in programs.items():
            path = os.path.join(build, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write('#!/bin/bash\n[[ $* == *--sizes* ]] && { echo "--n 1"; exit; }\n'
                           'for i; do [[ $before == --json ]] && out=$i; before=$i; done\n' + body)
            os.chmod(path, 0o755)

    @staticmethod
    def writes(**changes):
        return f"cat >\"$out\" <<'END'\n{record(**changes)}END\n"

    def run_all(self, build, *arguments):
        return [os.path.join(root, "scripts/run_all.sh"), "--no-build", "--build", build, "--out", build + "/out", *arguments]

    def records(self, build, name="a-gpu"):
        with open(f"{build}/out/{name}.jsonl", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_an_interrupt_ends_at_once_keeps_what_is_there_and_resumes(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with tempfile.TemporaryDirectory(prefix="a b ") as build:
                slow = f"echo $$ >>{build!r}/started; sleep 60\n"
                self.pretend(build, {"f/a": self.writes(program="a"), "f/b": slow, "f/c": slow, "f/d": slow})
                r = subprocess.Popen(self.run_all(build), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(200):
                    if os.path.exists(build + "/started") and glob.glob(build + "/out/runs/*.f.a.*.code"):
                        break
                    time.sleep(0.1)
                begin = time.monotonic()
                r.send_signal(number)
                out, err = r.communicate(timeout=30)
                self.assertLess(time.monotonic() - begin, 10)
                self.assertEqual(r.returncode, code, err)
                self.assertIn("1 runs passed, 0 failed, 0 skipped", out)
                self.assertIn("interrupted: 1 of 4 runs", out)
                self.assertEqual([x["program"] for x in self.records(build)], ["a"])
                with open(build + "/started", encoding="utf-8") as file:
                    for pid in file.read().split():
                        self.assertNotRegex(state(pid), "^[^ZX]", "a program still runs")
                # a is not run again: it would fail now.
                done = glob.glob(build + "/out/runs/*.f.a.*.code")[0]
                self.pretend(build, {"f/a": "exit 1\n", **{f"f/{x}": self.writes(program=x) for x in "bcd"}})
                os.utime(done, (time.time() + 9, time.time() + 9))
                r = subprocess.run(self.run_all(build, "--resume"), capture_output=True, text=True, check=False)
                self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
                self.assertEqual([x["program"] for x in self.records(build)], list("abcd"))

    def test_a_family_renews_its_own_records_and_no_others(self):
        with tempfile.TemporaryDirectory() as build:
            first = {"f/a": self.writes(family="f", program="a", time_ms_mean=1), "g/a": self.writes(family="g", program="a", time_ms_mean=1)}
            self.pretend(build, first)
            subprocess.run(self.run_all(build), capture_output=True, check=True)
            shutil.rmtree(build + "/out/runs")
            self.pretend(build, {**first, "g/a": self.writes(family="g", program="a", time_ms_mean=2)})
            subprocess.run(self.run_all(build, "--family", "g"), capture_output=True, check=True)
            self.assertEqual(sorted((x["family"], x["time_ms_mean"]) for x in self.records(build)), [("f", 1), ("g", 2)])

    def test_the_file_is_named_after_the_gpu_in_the_record(self):
        with tempfile.TemporaryDirectory() as build:
            self.pretend(build, {"f/a": self.writes(gpu="../Quadro T1000 / Max-Q")})
            subprocess.run(self.run_all(build), capture_output=True, check=True)
            self.assertEqual(len(self.records(build, "quadro-t1000-max-q")), 1)

    def test_usage(self):
        self.assertEqual(self.sweep({}, "--nonsense")[0].returncode, 2)
        self.assertEqual(self.sweep({}, "--family")[0].returncode, 2)


class Demo(unittest.TestCase):
    def test_usage(self):
        demo = os.path.join(root, "scripts/run_demo.sh")
        for arguments in ([], ["nowhere/nothing.cu"], ["README.md"]):
            r = subprocess.run([demo, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(r.returncode, 2, arguments)
        self.assertEqual(subprocess.run([demo, "--help"], capture_output=True, check=False).returncode, 0)


class Shell(unittest.TestCase):
    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shellcheck(self):
        scripts = [os.path.join(d, f) for d in ("scripts", "tests") for f in os.listdir(os.path.join(root, d))
                   if f.endswith(".sh")]
        r = subprocess.run(["shellcheck", "-x", *scripts], cwd=root, capture_output=True, text=True, check=False)
        self.assertEqual(r.returncode, 0, r.stdout)


class Compare(unittest.TestCase):
    def compare(self, a, b, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in (("a", a), ("b", b)):
                paths.append(os.path.join(folder, name))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(text)
            return subprocess.run([os.path.join(root, "scripts/compare.py"), *paths, *options], capture_output=True, text=True)

    def test_what_differs_is_listed_with_its_interval(self):
        a = record(samples=25) + record(samples=25, variant="same") + record(variant="old", samples=25)
        b = record(samples=25, time_ms_mean=0.4, time_ms_median=0.4) + record(samples=25, variant="same", time_ms_median=0.501)
        r = self.compare(a, b)
        self.assertEqual(r.returncode, 0, r.stderr)
        # 1.96 sqrt((0.01 / 0.5 / 5)^2 + (0.01 / 0.4 / 5)^2) = 1.25 %
        self.assertIn("1.250           1.234 to 1.266", r.stdout)
        self.assertNotIn("same", r.stdout)
        self.assertIn("2 compared, 1 differ; 0 without a time; 1 only in A, 0 only in B", r.stdout)
        self.assertIn("0.998", self.compare(a, b, "--all").stdout)

    def test_no_time_is_no_comparison(self):
        r = self.compare(record(samples=25), record(samples=25, time_ms_mean=None, time_ms_median=None, status="wrong"))
        self.assertIn("0 compared, 0 differ; 1 without a time", r.stdout)

    def test_a_file_that_holds_no_records_is_said_in_a_line(self):
        for text in ("", "{}\n", "[1]\n", "null\n", "{\n"):
            r = self.compare(record(), text)
            self.assertEqual((r.returncode, r.stderr.count("\n"), r.stdout), (2, 1, ""), text)


if __name__ == "__main__":
    unittest.main()
