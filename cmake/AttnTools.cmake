# How this project's libraries, programs and tests are declared: one call each.

add_library(attn_settings INTERFACE)
target_include_directories(attn_settings INTERFACE ${CMAKE_SOURCE_DIR}/lib)
target_compile_options(attn_settings INTERFACE -Wall -Wextra -Wshadow -Wconversion
                                               -Wsign-conversion)
# Only what a program really uses is loaded when it starts: OpenBLAS stays out of programs that
# multiply nothing.
target_link_options(attn_settings INTERFACE -Wl,--as-needed -Wl,--gc-sections)
target_compile_options(attn_settings INTERFACE -ffunction-sections -fdata-sections)
# a*b+c is rounded once or twice as the source says, never as the optimiser likes: the same
# bits in every build type.
target_compile_options(attn_settings INTERFACE -ffp-contract=off)
target_compile_definitions(attn_settings INTERFACE
                           $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(ATTNTOOLS_SANITIZE)
  set(sanitize -fsanitize=${ATTNTOOLS_SANITIZE} -fno-omit-frame-pointer)
  if(ATTNTOOLS_SANITIZE MATCHES "undefined")
    list(APPEND sanitize -fno-sanitize-recover=undefined)
  endif()
  # With its sanitizers on, GCC 12 sees uninitialised members in the standard library's own code.
  target_compile_options(attn_settings INTERFACE
                         ${sanitize} $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(attn_settings INTERFACE ${sanitize})
  if(ATTNTOOLS_SANITIZE MATCHES "thread")
    target_compile_definitions(attn_settings INTERFACE ATTNTOOLS_TSAN=1)
  endif()
  if(ATTNTOOLS_SANITIZE MATCHES "address")
    target_compile_definitions(attn_settings INTERFACE ATTNTOOLS_ASAN=1 _GLIBCXX_ASSERTIONS)
  endif()
endif()

# attn_library(NAME SOURCES a.cpp b.cpp LINKS core ops PRIVATE_LINKS attn_hdf5): the folder
# lib/NAME as the static library attn_NAME. LINKS are the folders it may include.
function(attn_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(attn_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_LINKS PREPEND attn_)
  target_link_libraries(attn_${name} PUBLIC attn_settings fmt::fmt ${ARG_LINKS}
                                     PRIVATE ${ARG_PRIVATE_LINKS})
  set_property(GLOBAL APPEND PROPERTY ATTNTOOLS_LIBRARIES attn_${name})
endfunction()

# attn_tool(NAME SOURCES NAME-report.cpp LINKS cli io ...): the program tools/NAME.cpp; SOURCES are
# its other files, where it has some.
function(attn_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  list(TRANSFORM ARG_LINKS PREPEND attn_)
  add_executable(${name} ${name}.cpp ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} attn_program_options)
  install(TARGETS ${name} RUNTIME)
  set_property(GLOBAL APPEND PROPERTY ATTNTOOLS_PROGRAMS ${name})
endfunction()

# attn_test(NAME SOURCES x_test.cpp LINKS ops core): one GoogleTest binary; each of its tests is
# a ctest. TIMEOUT is per test, in seconds.
function(attn_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  list(TRANSFORM ARG_LINKS PREPEND attn_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} ${ARG_PRIVATE_LINKS}
                                        attn_test_support GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()
