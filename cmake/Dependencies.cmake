# Every outside package, found once. A missing one ends with the line that installs them all.
set(ATTNTOOLS_APT_HINT "On Debian, as root: scripts/install-dependencies.sh")
if(EXISTS ${CMAKE_SOURCE_DIR}/scripts/install-dependencies.sh)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/install-dependencies.sh --apt-line
                  OUTPUT_VARIABLE ATTNTOOLS_APT_HINT OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

function(attn_missing package)
  message(FATAL_ERROR "${package} was not found. On Debian, as root:\n  ${ATTNTOOLS_APT_HINT}\n")
endfunction()

include(Packages)
set(ATTNTOOLS_DISABLED_TARGETS "" CACHE STRING
    "Vector targets that no kernel is compiled for, in Highway's names: HWY_AVX2|HWY_AVX3")
set(disabled ${ATTNTOOLS_DISABLED_TARGETS})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  # NEON and no vectors: SVE's types have no size, so that no struct of a kernel can hold them; and
  # GCC 12 crashes where arm_sve.h comes behind a precompiled header.
  list(APPEND disabled HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128)
elseif(ATTNTOOLS_SANITIZE)
  # The kernels once without vectors and for the two best targets of x86: a release's tests run all
  # five, and each target costs its share of the longest compilations.
  list(APPEND disabled HWY_SSSE3 HWY_SSE4)
endif()
if(disabled)
  list(JOIN disabled "|" disabled)
  target_compile_definitions(attn_highway INTERFACE "HWY_DISABLED_TARGETS=(${disabled})")
endif()

find_package(fmt QUIET)
if(NOT fmt_FOUND)
  attn_missing(fmt)
endif()
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  attn_missing(OpenMP)
endif()
if(ATTNTOOLS_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    attn_missing(GoogleTest)
  endif()
endif()
