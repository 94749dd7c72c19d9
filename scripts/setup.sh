# shellcheck shell=bash
# setup.sh: what a build needs and this machine lacks, all found before anything starts; sourced by build.sh.
#
# As root, or where sudo asks for no password, apt-get installs it (LADDER_INSTALL=no forbids that). Otherwise CMake and
# ninja come from PyPI into the build folder, and CMake fetches the libraries (cmake/dependencies.cmake). What cannot be
# had is named, and the script ends with 77.

oldest_cmake=3.24

# at_least VERSION OLDEST
at_least() { [[ $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# lacking [TOOL...]: the names of what is not here, a line each; TOOLs are commands that this caller needs as well.
lacking() {
    local version tool
    command -v nvcc >/dev/null || [[ -x ${CUDACXX:-} ]] || echo nvcc
    version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p') || true # there may be none
    at_least "${version:-0}" $oldest_cmake || echo cmake
    command -v ninja >/dev/null || echo ninja
    for tool in "$@"; do
        command -v "$tool" >/dev/null || echo "$tool"
    done
    if ! command -v "${CXX:-c++}" >/dev/null; then
        printf '%s\n' c++ CLI11 fmt nlohmann_json GTest
        return
    fi
    "${CXX:-c++}" -E -P -x c++ - <<'END' | grep .
#if !__has_include(<CLI/CLI.hpp>)
CLI11
#endif
#if !__has_include(<fmt/format.h>)
fmt
#endif
#if !__has_include(<nlohmann/json.hpp>)
nlohmann_json
#endif
#if !__has_include(<gtest/gtest.h>)
GTest
#endif
END
}

# packages NAME...: the packages of Debian and Ubuntu that bring them.
packages() {
    local name
    for name in "$@"; do
        case $name in
            c++) echo g++ ;;
            ninja) echo ninja-build ;;
            CLI11) echo libcli11-dev ;;
            fmt) echo libfmt-dev ;;
            nlohmann_json) echo nlohmann-json3-dev ;;
            GTest) echo libgtest-dev ;;
            cmake) # the system's may be too old; the one of PyPI needs python3-venv
                if at_least "$(LC_ALL=C apt-cache policy cmake 2>/dev/null | sed -n 's/ *Candidate: //p')" $oldest_cmake; then
                    echo cmake
                else
                    echo python3-venv
                fi
                ;;
            nvcc) ;;
            *) echo "$name" ;;
        esac
    done
}

# set_up DIR [TOOL...]: makes DIR, and brings what a build in it lacks.
set_up() {
    local build=$1 missing as_root=()
    shift
    if ! mkdir -p "$build" 2>/dev/null || [[ ! -w $build ]]; then
        echo "$build cannot be written: name another folder with --build DIR" >&2
        exit 2
    fi
    PATH=$build/tools/bin:$PATH
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
        command -v nvcc >/dev/null || [[ ! -x $folder/bin/nvcc ]] || PATH=$PATH:$folder/bin
    done
    mapfile -t missing < <(lacking "$@")

    [[ $EUID == 0 ]] || as_root=(sudo -n)
    # Without nvcc nothing can be built, and nothing is installed for it.
    if [[ ${#missing[@]} -gt 0 && " ${missing[*]} " != *' nvcc '* && ${LADDER_INSTALL:-} != no ]] &&
        command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
        mapfile -t wanted < <(packages "${missing[@]}")
        echo "missing: ${missing[*]}; apt-get installs ${wanted[*]} (LADDER_INSTALL=no forbids it)" >&2
        {
            "${as_root[@]}" apt-get update -q &&
                "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${wanted[@]}"
        } >"$build/apt.log" 2>&1 || echo "apt-get failed: $build/apt.log" >&2
        hash -r
        mapfile -t missing < <(lacking "$@")
    fi
    # make does in place of ninja.
    if [[ " ${missing[*]} " == *' cmake '* ]] || { [[ " ${missing[*]} " == *' ninja '* ]] && ! command -v make >/dev/null; }; then
        echo "missing: cmake $oldest_cmake or newer, or ninja; pip installs them into $build/tools" >&2
        {
            python3 -m venv "$build/tools" && "$build/tools/bin/pip" install -q cmake==3.31.10 ninja==1.13.0
        } >"$build/pip.log" 2>&1 || true
        hash -r
        mapfile -t missing < <(lacking "$@")
    fi
    # The libraries are CMake's to fetch, where there is a compiler.
    local hopeless=()
    for name in "${missing[@]}"; do
        case $name in
            ninja) command -v make >/dev/null || hopeless+=(ninja) ;;
            CLI11 | fmt | nlohmann_json | GTest) ;;
            *) hopeless+=("$name") ;;
        esac
    done
    if [[ ${#hopeless[@]} -gt 0 ]]; then
        echo "missing: ${missing[*]}"
        [[ " ${missing[*]} " != *' nvcc '* ]] ||
            echo "  nvcc is part of the CUDA toolkit: https://developer.nvidia.com/cuda-downloads (or set CUDACXX to it)"
        mapfile -t wanted < <(packages "${missing[@]}")
        [[ ${#wanted[@]} == 0 ]] || echo "  the rest: sudo apt-get install ${wanted[*]}"
        exit 77
    fi >&2
}
