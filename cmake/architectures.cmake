# The GPU architectures to build for. CMAKE_CUDA_ARCHITECTURES is the user's word and wins; otherwise this machine's GPU
# or, where there is none, all that this suite supports and the installed nvcc knows. ("native" alone does not
# configure on a machine without a GPU.) Must be included before project() or enable_language(CUDA).

set(LADDER_SUPPORTED 75 80 86 87 89 90 100 103 110 120 121)

# Sets `out` to those of LADDER_SUPPORTED that nvcc compiles for.
function(ladder_known_architectures out)
    find_program(LADDER_NVCC nvcc HINTS ${CMAKE_CUDA_COMPILER} ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH
                 PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(NOT LADDER_NVCC)
        message(FATAL_ERROR "nvcc is not found: install the CUDA toolkit (12.0 to 13.x), or set CUDACXX to its nvcc")
    endif()
    execute_process(COMMAND ${LADDER_NVCC} --list-gpu-code OUTPUT_VARIABLE codes)
    set(known)
    foreach(arch IN LISTS LADDER_SUPPORTED)
        if(codes MATCHES "sm_${arch}\n")
            list(APPEND known ${arch})
        endif()
    endforeach()
    set(${out} ${known} PARENT_SCOPE)
endfunction()

# Sets `out` to the architectures of this machine's GPUs, or to nothing.
function(ladder_present_architectures out)
    set(found)
    find_program(LADDER_NVIDIA_SMI nvidia-smi)
    if(LADDER_NVIDIA_SMI)
        execute_process(COMMAND ${LADDER_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                        OUTPUT_VARIABLE caps ERROR_QUIET)
        string(REGEX MATCHALL "[0-9]+\\.[0-9]" caps "${caps}")
        string(REPLACE "." "" found "${caps}")
        list(REMOVE_DUPLICATES found)
    endif()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_CUDA_ARCHITECTURES)
    ladder_present_architectures(LADDER_ARCHITECTURES)
    if(NOT LADDER_ARCHITECTURES)
        ladder_known_architectures(LADDER_ARCHITECTURES)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${LADDER_ARCHITECTURES} CACHE STRING "GPU architectures to build for" FORCE)
endif()
