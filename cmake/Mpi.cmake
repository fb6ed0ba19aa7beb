# MPI for our own tests and benches: defines the target ragged_mpi_NAME and the launcher RAGGED_MPIRUN_NAME for each of
# RAGGED_MPIS that is found, or RAGGED_NO_MPI_REASON_NAME. Open MPI and MPICH live side by side on Debian and Ubuntu:
# their compiler wrappers say what a program needs.

set(RAGGED_MPIS "openmpi;mpich" CACHE STRING "The MPIs whose mpicxx.NAME and mpirun.NAME tests and benches use")

function(ragged_find_mpi name)
    find_program(RAGGED_MPICXX_${name} mpicxx.${name})
    find_program(RAGGED_MPIRUN_${name} mpirun.${name})
    mark_as_advanced(RAGGED_MPICXX_${name} RAGGED_MPIRUN_${name})
    if(NOT RAGGED_MPICXX_${name} OR NOT RAGGED_MPIRUN_${name})
        set(RAGGED_NO_MPI_REASON_${name} "mpicxx.${name} or mpirun.${name} was not found" PARENT_SCOPE)
        return()
    endif()
    execute_process(COMMAND ${RAGGED_MPICXX_${name}} -show OUTPUT_VARIABLE command COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(words UNIX_COMMAND "${command}")
    add_library(ragged_mpi_${name} INTERFACE)
    target_link_libraries(ragged_mpi_${name} INTERFACE ragged_development)
    foreach(word IN LISTS words)
        if(word MATCHES "^-I(.+)")
            target_include_directories(ragged_mpi_${name} SYSTEM INTERFACE ${CMAKE_MATCH_1})
        elseif(word MATCHES "^-(L|l|Wl,)")
            target_link_libraries(ragged_mpi_${name} INTERFACE ${word})
        endif()
    endforeach()
endfunction()

foreach(name IN LISTS RAGGED_MPIS)
    ragged_find_mpi(${name})
endforeach()
