#!/usr/bin/env python3
"""A first visit, in throw-away folders: odd paths, machines that lack things, CMakes from the oldest to the newest.

One program of each family is configured and built by the oldest CMake and by the newest (from PyPI; left out, with a
word, where PyPI cannot be reached), and by one line of nvcc. Takes minutes.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
programs = ["transpose/padded", "reduce/shared", "stencil/naive_1d", "matmul/naive", "streams/graphs", "memory/bank_size"]


def call(*command, cwd=None, env=None, timeout=900):
    """(exit code, stdout and stderr together)"""
    r = subprocess.run(command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       stdin=subprocess.DEVNULL, text=True, timeout=timeout, check=False)
    return r.returncode, r.stdout


def copy_sources(to):
    """The files of the checkout as they are now, without its builds and its .git."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if os.path.exists(os.path.join(root, name)):
            os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
            shutil.copy2(os.path.join(root, name), os.path.join(to, name))


def stub(folder, name, body):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + body + "\n")
    os.chmod(path, 0o755)
    return folder


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def path_with(self, name, body):
        """PATH with one more command in front."""
        stubs = os.path.join(self.folder, "stubs")
        os.makedirs(stubs, exist_ok=True)
        return {"PATH": stub(stubs, name, body) + ":" + os.environ["PATH"]}


class Gpus(Folder):
    """scripts/gpu.sh against the nvidia-smi of other machines."""

    def gpus(self, body):
        r = subprocess.run([root + "/scripts/gpu.sh"], env={**os.environ, "CUDACXX": "/nowhere/nvcc", **self.path_with("nvidia-smi", body)},
                           capture_output=True, text=True, check=True)
        return r.stdout.split(), r.stderr

    def test_answers(self):
        self.assertEqual(self.gpus("printf '9.0\\n8.6\\n'")[0], ["9.0", "8.6"])
        self.assertEqual(self.gpus("printf '12.1\\r\\n'")[0], ["12.1"])

    def test_text_that_is_no_answer(self):
        for body in ("echo 'Driver/library version mismatch'; echo 'NVML library version: 550.144'; exit 18",
                     "echo 'NVML library version: 550.144'", "echo 9.0; exit 9", "echo '[N/A]'", "printf '9.0\\n[N/A]\\n'",
                     "echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2", "true"):
            gpus, complaint = self.gpus(body)
            self.assertEqual(gpus, [], body)
            self.assertIn("no GPU is used", complaint)

    def test_hidden_from_cuda(self):
        for value in ("", "-1"):
            os.environ["CUDA_VISIBLE_DEVICES"] = value
            self.addCleanup(os.environ.pop, "CUDA_VISIBLE_DEVICES", None)
            self.assertEqual(self.gpus("echo 9.0")[0], [])


class Architectures(Folder):
    """What CMake is told to build for: the last lines of a configure, and its cache."""

    def configure(self, *options, env=None):
        build = os.path.join(self.folder, "b")
        shutil.rmtree(build, ignore_errors=True)
        code, out = call("cmake", "-S", root, "-B", build, "-DBUILD_TESTING=OFF", *options, env=env)
        with open(build + "/CMakeCache.txt", encoding="utf-8") as file:
            found = [line.split("=", 1)[1].strip() for line in file if line.startswith("CMAKE_CUDA_ARCHITECTURES:")]
        return code, out, found[0] if found else None

    def test_gpus_that_the_toolkit_knows_or_not(self):
        self.assertEqual(self.configure(env=self.path_with("nvidia-smi", "printf '9.0\\n8.0\\n6.1\\n'"))[::2], (0, "90;80"))
        code, out, _ = self.configure(env=self.path_with("nvidia-smi", "echo 3.5"))
        self.assertEqual(code, 1)
        self.assertIn("older than its CUDA toolkit knows", " ".join(out.split()))
        code, out, chosen = self.configure(env=self.path_with("nvidia-smi", "echo 99.0"))
        self.assertEqual(code, 0, out)
        self.assertGreaterEqual(int(chosen), 120)

    def test_the_user_wins(self):
        self.assertEqual(self.configure(env={"CUDAARCHS": "86"})[::2], (0, "86"))
        for value in ("all-major", "OFF", "80-real;90-virtual"):
            self.assertEqual(self.configure("-DCMAKE_CUDA_ARCHITECTURES=" + value)[::2], (0, value))
        code, out, _ = self.configure("-DCMAKE_CUDA_ARCHITECTURES=native", env={"CUDA_VISIBLE_DEVICES": "-1"})
        self.assertEqual(code, 1)
        self.assertIn("shows no GPU", out)

    def test_a_compiler_that_is_named(self):
        nvcc = os.path.realpath(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
        wrong = self.path_with("nvcc", "exit 1")
        for options, env in ((["-DCMAKE_CUDA_COMPILER=" + nvcc], {}), ([], {"CUDACXX": nvcc})):
            self.assertEqual(self.configure(*options, env={**wrong, **env})[0], 0)
        code, out, _ = self.configure(env={**wrong, "CUDA_HOME": "", "CUDA_PATH": "", "CUDA_VISIBLE_DEVICES": "-1"})
        self.assertEqual(code, 1)
        self.assertIn("--list-gpu-code fails", out)


class SetUp(Folder):
    def test_a_configure_that_failed_does_not_spoil_the_next(self):
        build = os.path.join(self.folder, "b")
        os.mkdir(build)
        with open(build + "/CMakeCache.txt", "w", encoding="utf-8"):
            pass
        code, out = call("bash", "-c", f"source {root}/scripts/build.sh; configure_to_run '{build}'", env={"LADDER_INSTALL": "no"})
        self.assertEqual(code, 0, out)
        self.assertTrue(os.path.exists(build + "/build.ninja") or os.path.exists(build + "/Makefile"))

    def test_missing_libraries_are_named_together(self):
        build = os.path.join(self.folder, "b")
        archives = os.path.join(self.folder, "archives")
        os.mkdir(archives)
        hidden = ["-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON"]
        for name in ("CLI11", "fmt"):  # not what the hash says
            with open(f"{archives}/{name}.tar.gz", "w", encoding="utf-8") as file:
                file.write("something else")
        code, out = call("bash", "-c", 'source "$0"; configure "$@"', root + "/scripts/build.sh", build, "-DLADDER_ARCHIVES=" + archives,
                         "-DCMAKE_CUDA_ARCHITECTURES=90", "-DBUILD_TESTING=OFF", *hidden)
        self.assertEqual(code, 77, out)
        self.assertIn("Neither installed nor fetched: CLI11, fmt.", " ".join(out.split()))
        self.assertIn("apt-get install libcli11-dev", " ".join(out.split()))
        self.assertLessEqual(len(out.splitlines()), 6, out)

    def test_a_machine_with_nothing(self):
        bare = os.path.join(self.folder, "bare")
        os.mkdir(bare)
        for name in ("bash", "readlink", "dirname", "basename", "mkdir", "sort", "head", "grep", "sed", "timeout", "tr", "cat", "env"):
            os.symlink(shutil.which(name), os.path.join(bare, name))
        code, out = call("bash", "-c", f"source {root}/scripts/build.sh; set_up '{self.folder}/b'",
                         env={"PATH": bare, "CUDA_HOME": "/nowhere", "CUDACXX": "", "LADDER_INSTALL": "no"})
        self.assertEqual(code, 77, out)
        self.assertLessEqual(len(out.strip().splitlines()), 5, out)
        for name in ("cmake", "c++", "CLI11", "fmt", "nlohmann_json", "GTest"):
            self.assertIn(name, out)

    def test_jobs_are_bounded(self):
        code, out = call("bash", "-c", f"source {root}/scripts/build.sh; cmake() {{ echo \"$@\"; }}; build x")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"--parallel [1-9][0-9]*\n")


class Demo(Folder):
    def test_a_readers_own_file(self):
        place = os.path.join(self.folder, "my: süß")
        os.mkdir(place)
        source = os.path.join(place, "mine.cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <cstdio>\n__global__ void set(int* a) {\n    a[threadIdx.x * 2] = 1;\n}\n"
                       "int main(int argc, char**) {\n    int* a;\n    cudaMalloc(&a, 256);\n    set<<<1, 32>>>(a);\n"
                       "    cudaDeviceSynchronize();\n    cudaFree(a);\n    return argc;\n}\n")
        demo = root + "/scripts/run_demo.sh"
        code, out = call(demo, "--build", place + "/b", "mine.cu", "x", cwd=place, env={"CUDA_VISIBLE_DEVICES": "-1"})
        self.assertEqual(code, 2, out)
        self.assertRegex(out, r"mine\.cu:3\n +global_store +1 requests +8\.00 sectors a request")
        with open(source, "a", encoding="utf-8") as file:
            file.write("nonsense\n")
        code, out = call(demo, "--build", place + "/b", source, env={"CUDA_VISIBLE_DEVICES": "-1"})
        self.assertEqual(code, 1)
        self.assertIn("does not compile as it is", out)

    def test_from_a_familys_folder_of_a_linked_read_only_checkout(self):
        link = os.path.join(self.folder, "link")
        os.symlink(root, link)
        code, out = call("../scripts/run_demo.sh", "--build", self.folder + "/b", "padded.cu", "--n", "8", cwd=link + "/transpose",
                         env={"CUDA_VISIBLE_DEVICES": "-1"})
        self.assertEqual(code, 0, out)
        self.assertIn("8 x 8 float   simulated", out)


class OneLine(Folder):
    def test_nvcc_without_cmake(self):
        nvcc = "nvcc -std=c++17 -O2 -arch=sm_90 -DFMT_HEADER_ONLY -Icommon"
        binary = os.path.join(self.folder, "program")
        harness = os.path.join(self.folder, "common.a")
        code, out = call("bash", "-c", f"{nvcc} -lib common/*.cpp -o {harness}", cwd=root)  # once for the other families
        self.assertEqual(code, 0, out)
        for program in programs:
            sources = "common/*.cpp" if program == programs[0] else harness
            code, out = call("bash", "-c", f"{nvcc} {program}.cu {sources} -o {binary}", cwd=root)
            self.assertEqual(code, 0, out)
            self.assertEqual(call(binary, "--list")[0], 0)


class CMakes(Folder):
    def check(self, version):
        venv = os.path.join(self.folder, "v")
        if call(sys.executable, "-m", "venv", venv)[0] or call(venv + "/bin/pip", "install", "-q", "cmake" + version, "ninja")[0]:
            self.skipTest("PyPI cannot be reached")
        source = os.path.join(self.folder, "a lädder")
        copy_sources(source)
        # Inside another repository, whose revision is not that of the sources.
        call("git", "init", "-q", self.folder)
        call("git", "-C", self.folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a")
        env = {"PATH": venv + "/bin:" + os.environ["PATH"]}
        if shutil.which("ccache"):  # the second CMake compiles what the first did
            env.update(CCACHE_BASEDIR=self.folder, CCACHE_NOHASHDIR="1", CMAKE_CXX_COMPILER_LAUNCHER="ccache",
                       CMAKE_CUDA_COMPILER_LAUNCHER="ccache")
        build = os.path.join(self.folder, "b")
        code, out = call("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_CUDA_ARCHITECTURES=90", env=env)
        self.assertEqual(code, 0, out)
        targets = [p.replace("/", "_") for p in programs]
        code, out = call("cmake", "--build", build, "--parallel", "2", "--target", "ladder_simulator", *targets, env=env)
        self.assertEqual(code, 0, out)
        for program in programs:
            code, out = call(f"{build}/{program}", "--simulate")
            self.assertEqual(code, 0, out)
        with open(build + "/common/revision.hpp", encoding="utf-8") as file:
            self.assertIn('LADDER_REVISION "unknown"', file.read())

    def test_oldest(self):
        self.check("==3.24.*")

    def test_newest(self):
        self.check(">=4")

    def test_a_part_of_another_project(self):
        with open(self.folder + "/CMakeLists.txt", "w", encoding="utf-8") as file:
            file.write(f"cmake_minimum_required(VERSION 3.24)\nproject(parent LANGUAGES CXX)\nadd_subdirectory({root} ladder)\n")
        code, out = call("cmake", "-S", self.folder, "-B", self.folder + "/b", "-DCMAKE_CUDA_ARCHITECTURES=90")
        self.assertEqual(code, 0, out)
        code, out = call("cmake", "--build", self.folder + "/b", "--parallel", "2", "--target", "transpose_padded", "ladder_simulator")
        self.assertEqual(code, 0, out)
        self.assertEqual(call(self.folder + "/b/ladder/transpose/padded", "--n", "8", "--simulate")[0], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
