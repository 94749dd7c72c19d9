# CLI11, {fmt}, nlohmann/json and GoogleTest: the system's packages first, otherwise pinned archives. All that is missing
# is said at once. Where there is no network, put the archives into LADDER_ARCHIVES by hand.
include(FetchContent)
set(LADDER_ARCHIVES ${PROJECT_BINARY_DIR}/archives CACHE PATH "Where the archives of missing libraries are kept")
set(JSON_BuildTests OFF CACHE INTERNAL "")
set(INSTALL_GTEST OFF CACHE INTERNAL "")
set(LADDER_MISSING)

# ladder_dependency(name url sha256): finds the package, or else its archive; what it cannot get goes to LADDER_MISSING.
macro(ladder_dependency name url sha256)
    find_package(${name} QUIET)
    if(NOT ${name}_FOUND)
        set(archive ${LADDER_ARCHIVES}/${name}.tar.gz)
        if(NOT EXISTS ${archive})
            message(STATUS "${name} is not installed: fetching ${url}")
            file(DOWNLOAD ${url} ${archive} INACTIVITY_TIMEOUT 20)
        endif()
        file(SHA256 ${archive} sum)
        if(sum STREQUAL ${sha256})
            FetchContent_Declare(${name} URL ${archive} URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF)
            list(APPEND LADDER_FETCHED ${name})
        else()
            file(REMOVE ${archive})
            list(APPEND LADDER_MISSING ${name})
        endif()
    endif()
endmacro()

ladder_dependency(CLI11 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
                  f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)
ladder_dependency(fmt https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz
                  1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811)
ladder_dependency(nlohmann_json https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
                  0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
if(LADDER_TESTING)
    ladder_dependency(GTest https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
                      8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7)
endif()
if(LADDER_MISSING)
    string(REPLACE ";" ", " LADDER_MISSING "${LADDER_MISSING}")
    message(FATAL_ERROR "Neither installed nor fetched: ${LADDER_MISSING}. Install them: "
                        "apt-get install libcli11-dev libfmt-dev nlohmann-json3-dev libgtest-dev")
endif()
if(LADDER_FETCHED)
    FetchContent_MakeAvailable(${LADDER_FETCHED})
endif()
