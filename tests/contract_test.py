#!/usr/bin/env python3
"""contract_test.py SOURCE SIMULATOR [CMAKE-OPTIONS...]: adds a program and a family to a copy of the sources, as README.md
says ("Adding a program", "Adding a family"), builds them and runs them under the simulator; and sees that a family that
forgets something is told so in words."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, SIMULATOR, OPTIONS = sys.argv[1], sys.argv[2], sys.argv[3:]
PARTS = ["CMakeLists.txt", "cmake", "common", "simulator", "transpose", "reduce", "stencil", "matmul", "streams", "memory",
         "scripts", "tests/contract", "tests/run_sizes.sh", "README.md", "README.zh-CN.md", "LICENSE", "results"]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def add_line(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.source = os.path.join(cls.folder.name, "source")
        cls.build = os.path.join(cls.folder.name, "build")
        for part in PARTS:
            source, target = os.path.join(SOURCE, part), os.path.join(cls.source, part)
            if os.path.isdir(source):
                shutil.copytree(source, target)
            elif os.path.exists(source):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
        shutil.copy(f"{cls.source}/tests/contract/diagonal.cu", f"{cls.source}/transpose/")
        add_line(f"{cls.source}/transpose/CMakeLists.txt", "ladder_add_program(naive.cu)\n",
                 "ladder_add_program(naive.cu)\nladder_add_program(diagonal.cu)\n")
        shutil.copytree(f"{cls.source}/tests/contract/scan", f"{cls.source}/scan")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def configure(self):
        return run("cmake", "-S", self.source, "-B", self.build, "-DCMAKE_CUDA_ARCHITECTURES=90", "-DBUILD_TESTING=OFF",
                   *OPTIONS)

    def test_a_program_and_a_family(self):
        forgotten = self.configure()
        self.assertNotEqual(forgotten.returncode, 0)
        self.assertIn("scan/ adds programs, but the list of families", forgotten.stderr)

        add_line(f"{self.source}/CMakeLists.txt", "streams memory)", "streams memory scan)")
        configured = self.configure()
        self.assertEqual(configured.returncode, 0, configured.stderr)
        built = run("cmake", "--build", self.build, "--parallel", "2", "--target", "transpose_diagonal", "scan_naive")
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        environment = dict(os.environ, LADDER_SIMULATOR=SIMULATOR)
        for program, sizes in (("transpose/diagonal", 18), ("scan/naive", 4)):
            result = run(f"{self.source}/tests/run_sizes.sh", "test", f"{self.build}/{program}", "--simulate", env=environment)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn(f"{sizes} sizes right, 0 wrong, 0 refused", result.stdout)
        listed = run(f"{self.build}/scan/naive", "--list").stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in listed], [["copy", "ceiling"], ["naive", "rung"]])
        refused = run(f"{self.build}/scan/naive", "--n", "4", "--print", "--simulate", env=environment)
        self.assertEqual((refused.returncode, refused.stderr), (2, "scan/naive: --print: there is nothing to show here\n"))

        self.forgets("void poison() { out.poison(); }", "Work<T> has void poison(): 0xFF into all that a variant may write")
        self.forgets('static constexpr const char* NAME = "scan";', "a family says NAME, a string: that of its folder")

    def forgets(self, what, message):
        """The family without this line does not compile, and the compiler's words say what is missing."""
        path = f"{self.source}/scan/scan.cuh"
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        add_line(path, what, "")
        built = run("cmake", "--build", self.build, "--target", "scan_naive")
        self.assertNotEqual(built.returncode, 0)
        self.assertIn(message, built.stdout + built.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write(whole)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
