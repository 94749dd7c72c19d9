# CLI11, {fmt}, nlohmann/json and GoogleTest: the system's packages first, otherwise fetched from their own
# repositories. Without a network, install them:
#   apt-get install libcli11-dev libfmt-dev nlohmann-json3-dev libgtest-dev
include(FetchContent)

# ladder_dependency(name package repository tag): after this the targets of `name` exist.
macro(ladder_dependency name package repository tag)
    find_package(${name} QUIET)
    if(NOT ${name}_FOUND)
        message(STATUS "${name} is not installed: fetching ${tag} (or, by hand: apt-get install ${package})")
        FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON)
        FetchContent_MakeAvailable(${name})
    endif()
endmacro()

set(JSON_BuildTests OFF CACHE INTERNAL "")
set(INSTALL_GTEST OFF CACHE INTERNAL "")
ladder_dependency(CLI11 libcli11-dev https://github.com/CLIUtils/CLI11.git v2.4.2)
ladder_dependency(fmt libfmt-dev https://github.com/fmtlib/fmt.git 10.2.1)
ladder_dependency(nlohmann_json nlohmann-json3-dev https://github.com/nlohmann/json.git v3.11.3)
if(BUILD_TESTING)
    ladder_dependency(GTest libgtest-dev https://github.com/google/googletest.git v1.14.0)
endif()
