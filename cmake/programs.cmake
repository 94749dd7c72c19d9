# ladder_add_program(SOURCE [HOPPER] [MINIMUM arch] [PTX arch] [BASELINES target...])
#
# transpose/padded.cu becomes the target transpose_padded and the binary <build>/transpose/padded.
#   HOPPER   uses Hopper's own instructions: built for sm_90a alone. Elsewhere the program says so and exits 77.
#   MINIMUM  the lowest architecture that has what the program uses (cp.async: 80).
#   PTX      an architecture whose PTX is there as well, because it has what a variant needs (clusters: 90).
#   BASELINES    libraries that the program shows beside its rungs, where they are found (CUDA::cublas).
#
# The same binary runs on a GPU and on the simulator, which reads the PTX in it, the newest that a device of 9.0 takes: so
# the lowest architecture is always there as PTX, uncompressed, and the CUDA runtime is the shared library that the
# simulator can stand in for. PTX of the highest architecture serves GPUs that are newer than the toolkit.
function(ladder_add_program source)
    cmake_parse_arguments(ARG "HOPPER" "MINIMUM;PTX" "BASELINES" ${ARGN})
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(family ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    set(target ${family}_${name})

    set(architectures)
    foreach(arch IN LISTS CMAKE_CUDA_ARCHITECTURES)
        string(REGEX MATCH "^[0-9]+" number ${arch})
        if(NOT number)  # all, all-major, OFF: CMake's own words
            set(architectures ${CMAKE_CUDA_ARCHITECTURES})
            break()
        endif()
        if(NOT ARG_MINIMUM OR number GREATER_EQUAL ARG_MINIMUM)
            if(NOT arch MATCHES "-")  # else the user has said which of the two
                string(APPEND arch -real)
            endif()
            list(APPEND architectures ${arch})
            list(APPEND numbers ${number})
        endif()
    endforeach()
    if(numbers)
        list(SORT numbers COMPARE NATURAL)
        list(GET numbers 0 lowest)
        list(GET numbers -1 highest)
        list(APPEND architectures ${lowest}-virtual ${highest}-virtual)
        if(ARG_PTX)
            list(APPEND architectures ${ARG_PTX}-virtual)
        endif()
        list(REMOVE_DUPLICATES architectures)
    endif()
    if(ARG_HOPPER)
        set(architectures 90a)
    elseif("${architectures}" STREQUAL "")
        set(architectures ${ARG_MINIMUM})  # built, though for none of the GPUs that were named
    endif()

    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${cuda_ladder_BINARY_DIR}/${family}
        INSTALL_RPATH_USE_LINK_PATH ON
        CUDA_ARCHITECTURES "${architectures}"
        CUDA_RUNTIME_LIBRARY Shared)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:--no-compress -Xcompiler=-Wall,-Wextra>
        # A debug build (-G) has more than the lines, and nvcc warns of both.
        $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<CONFIG:Debug>>>:-lineinfo>)
    target_link_libraries(${target} PRIVATE ladder)
    foreach(baseline IN LISTS ARG_BASELINES)
        if(TARGET ${baseline})
            string(REGEX REPLACE ".*::" "" library ${baseline})
            string(TOUPPER ${library} library)
            target_link_libraries(${target} PRIVATE ${baseline})
            target_compile_definitions(${target} PRIVATE LADDER_HAS_${library})
        endif()
    endforeach()
    set_property(GLOBAL APPEND PROPERTY LADDER_PROGRAMS ${family}/${name})
endfunction()
