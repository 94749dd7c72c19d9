# Run at build time: writes revision.hpp with the revision of the sources and the compilers, where it has changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty OUTPUT_VARIABLE revision
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT revision)
    set(revision unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once
#define LADDER_REVISION \"${revision}\"
#define LADDER_COMPILER \"${COMPILER}\"
" @ONLY)
