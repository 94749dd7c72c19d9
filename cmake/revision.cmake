# Run at build time: writes revision.hpp with the revision of the sources and the compilers, where it has changed.
# The sources may lie, without a .git of their own, inside another repository: its revision is not theirs.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET)
file(REAL_PATH ${SOURCE} source)
if(top AND top STREQUAL source)
    execute_process(COMMAND git -C ${SOURCE} describe --always --dirty OUTPUT_VARIABLE revision
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT revision)
    set(revision unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once
#define LADDER_REVISION \"${revision}\"
#define LADDER_COMPILER \"${COMPILER}\"
" @ONLY)
