# find_package(ragged) defines ragged::ragged; find_package(ragged COMPONENTS mpi) ragged::mpi as well, and so do
# cuda, nccl, cublas and blas.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/ragged-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/ragged-backends.cmake)
ragged_backends(${ragged_FIND_COMPONENTS})
foreach(component IN LISTS ragged_FIND_COMPONENTS)
    if(ragged_FIND_REQUIRED_${component} AND NOT ragged_${component}_FOUND)
        set(ragged_FOUND OFF)
        set(ragged_NOT_FOUND_MESSAGE "component ${component}: ${ragged_${component}_REASON}")
    endif()
endforeach()
