# find_package(ragged) defines ragged::ragged.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/ragged-targets.cmake)
