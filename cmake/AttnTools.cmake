# How this project's libraries, programs and tests are declared: one call each.

# What all are built with. Who builds on the installed libraries gets the headers and the language.
add_library(attn_settings INTERFACE)
target_include_directories(attn_settings INTERFACE
                           $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/lib>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/attntools>)
target_compile_features(attn_settings INTERFACE cxx_std_20)
install(TARGETS attn_settings EXPORT attntools)
set(warnings -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion)
target_compile_options(attn_settings INTERFACE $<BUILD_INTERFACE:${warnings}>)
# Only what a program really uses is loaded when it starts: OpenBLAS stays out of programs that
# multiply nothing.
target_link_options(attn_settings INTERFACE $<BUILD_INTERFACE:-Wl,--as-needed$<SEMICOLON>-Wl,--gc-sections>)
target_compile_options(attn_settings INTERFACE $<BUILD_INTERFACE:-ffunction-sections$<SEMICOLON>-fdata-sections>)
# a*b+c is rounded once or twice as the source says, never as the optimiser likes: the same
# bits in every build type.
target_compile_options(attn_settings INTERFACE $<BUILD_INTERFACE:-ffp-contract=off>)
target_compile_definitions(attn_settings INTERFACE
                           $<BUILD_INTERFACE:$<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>>)

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

# How hard the compiler works where that is not what users run. Most of a sanitizer's compile time
# goes into optimising its own checks: a third is enough, but for FOLDERs whose loops are the tests'
# running time. Lines in a report need -g1 only. Of a release, the tests themselves are optimised
# little; what they test is built as it ships.
function(attn_optimise target)
  cmake_parse_arguments(ARG "TEST" "FOLDER" "" ${ARGN})
  if(ATTNTOOLS_SANITIZE)
    if(ARG_FOLDER MATCHES "^(core|ops|nn|model)$")
      target_compile_options(${target} PRIVATE -O1 -g1)
    else()
      target_compile_options(${target} PRIVATE -Og -g1)
    endif()
  elseif(ARG_TEST)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# attn_library(NAME SOURCES a.cpp b.cpp LINKS core ops PRIVATE_LINKS attn_hdf5): the folder
# lib/NAME as the static library attn_NAME. LINKS are the folders it may include.
function(attn_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(attn_${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_LINKS PREPEND attn_)
  target_link_libraries(attn_${name} PUBLIC attn_settings fmt::fmt ${ARG_LINKS}
                                     PRIVATE ${ARG_PRIVATE_LINKS})
  attn_optimise(attn_${name} FOLDER ${name})
  if(NOT ARG_PRIVATE_LINKS MATCHES OpenMP)  # its flag defines a macro
    attn_precompile(attn_${name} lib)
  endif()
  set_target_properties(attn_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS attn_${name} EXPORT attntools ARCHIVE COMPONENT development)
  set_property(GLOBAL APPEND PROPERTY ATTNTOOLS_LIBRARIES attn_${name})
endfunction()

# attn_tool(NAME SOURCES NAME/report.cpp LINKS cli io ...): the program tools/NAME.cpp; SOURCES are
# its other files, in a folder tools/NAME, where it has some. They are included as "NAME/report.h".
function(attn_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  list(TRANSFORM ARG_LINKS PREPEND attn_)
  add_executable(${name} ${name}.cpp ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} attn_program_options)
  attn_optimise(${name})
  attn_precompile(${name} tool)
  install(TARGETS ${name} RUNTIME COMPONENT programs)
  set_property(GLOBAL APPEND PROPERTY ATTNTOOLS_PROGRAMS ${name})
endfunction()

# attn_test(NAME SOURCES x_test.cpp LINKS ops core): one GoogleTest binary; each of its tests is
# a ctest. TIMEOUT is per test, in seconds; COST is about its seconds, where it should start early;
# SLOW are tests, as --gtest_filter names them, that the sanitizers' presets leave out: say at the
# call which quicker ones run the same code.
function(attn_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST" "SOURCES;LINKS;PRIVATE_LINKS;SLOW" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  list(TRANSFORM ARG_LINKS PREPEND attn_)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} ${ARG_PRIVATE_LINKS}
                                        attn_test_support fmt::fmt GTest::gmock_main)
  attn_optimise(${name} TEST)
  attn_precompile(${name} test)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set(quick "*")
  if(ARG_SLOW)
    list(JOIN ARG_SLOW ":" slow)
    set(quick "-${slow}")
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 TEST_FILTER "${slow}"
                         TEST_LIST ${name}_slow
                         PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST 100 LABELS slow)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 TEST_FILTER "${quick}"
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_COST})
endfunction()

# attn_test_vectors(NAME FILTER): the tests of NAME that FILTER takes (as --gtest_filter) once more, as
# vectors.NAME.scalar, .SSE4 and .AVX2, each with the kernels of that target; NAME has
# support/vector_target.cpp among its sources. The sanitizers' presets leave these out: what they
# build has fewer targets, which Targets.* compare.
function(attn_test_vectors name filter)
  foreach(target IN ITEMS scalar SSE4 AVX2)
    set(test vectors.${name}.${target})
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1 --gtest_filter=${filter})
    set_tests_properties(${test} PROPERTIES ENVIRONMENT ATTNTOOLS_VECTORS=${target}
                         SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS slow)
  endforeach()
endfunction()
