# cmake -DSOURCE=file -DCOMPILE=command -DMUST_FAIL=bool -P CompileFail.cmake
#
# The first line of SOURCE is `// expect: text`. With MUST_FAIL its part under RAGGED_MUST_FAIL must be refused, and
# the text, literal or a regular expression, must be in what the compiler says. Without, the other part is the
# control: it must compile without a word, so that the refusal has no other cause.

file(READ ${SOURCE} code)
if(NOT code MATCHES "^// expect: ([^\n]+)")
    message(FATAL_ERROR "${SOURCE} does not begin with `// expect: text`")
endif()
set(expected "${CMAKE_MATCH_1}")

if(MUST_FAIL)
    list(APPEND COMPILE -DRAGGED_MUST_FAIL)
endif()
execute_process(COMMAND ${COMPILE} ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")

if(NOT MUST_FAIL)
    if(NOT status EQUAL 0 OR NOT output STREQUAL "")
        message(FATAL_ERROR "the control does not compile cleanly")
    endif()
elseif(status EQUAL 0)
    message(FATAL_ERROR "it compiles, and should be refused with: ${expected}")
else()
    string(REPLACE "${SOURCE}" "" output "${output}") # a file name may hold the expected words
    string(FIND "${output}" "${expected}" position)
    if(position EQUAL -1 AND NOT output MATCHES "${expected}")
        message(FATAL_ERROR "refused, but not with: ${expected}")
    endif()
endif()
