# How our own tests, examples and benches are compiled. None of it reaches a consumer.

if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_CXX_EXTENSIONS OFF)
    find_program(CCACHE_PROGRAM ccache)
    if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
        set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    endif()
endif()

# What has no threads tells the thread sanitizer nothing (55 s of running, of them plan_model 41, and 43 s of
# compiling). Both sanitizers leave out more layouts of the redistributions that other tests run (70 s of running, 70 and
# 140 s of compiling), the one for addresses what only plans and prints (40 s), and the demo, which is no test.
set(RAGGED_LEAVE_OUT "" CACHE STRING "Examples, and tests as folder/name_test.cpp, that are not built")

set(ragged_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND ragged_warnings -Wno-restrict) # false alarm for "text" + std::string, GCC bug 105651
endif()
add_library(ragged_development INTERFACE)
target_link_libraries(ragged_development INTERFACE ragged::ragged)
target_compile_definitions(ragged_development INTERFACE RAGGED_MODELS_DIR="${PROJECT_SOURCE_DIR}/examples/models")
target_compile_options(ragged_development INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:${ragged_warnings};-fno-math-errno>)

# Examples and benches show what the machine can do, so they use its vector units; tests stay portable.
set(RAGGED_HOST_ARCH "" CACHE STRING
    "-march of our tests, examples and benches; empty: the best of x86-64-v4 and -v3 that runs here, for the last two")
add_library(ragged_host_arch INTERFACE)
if(RAGGED_HOST_ARCH)
    target_compile_options(ragged_development INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-march=${RAGGED_HOST_ARCH}>)
else()
    include(CheckCXXSourceRuns)
    foreach(level v4 v3)
        set(features "avx2;fma;bmi2")
        if(level STREQUAL v4)
            list(APPEND features avx512f avx512bw avx512vl avx512dq)
        endif()
        list(TRANSFORM features REPLACE "(.+)" "__builtin_cpu_supports(\"\\1\")")
        list(JOIN features " && " supported)
        set(CMAKE_REQUIRED_FLAGS -march=x86-64-${level})
        check_cxx_source_runs("int main() { return ${supported} ? 0 : 1; }" RAGGED_RUNS_X86_64_${level})
        unset(CMAKE_REQUIRED_FLAGS)
        if(RAGGED_RUNS_X86_64_${level})
            target_compile_options(ragged_host_arch INTERFACE -march=x86-64-${level})
            break()
        endif()
    endforeach()
endif()
