# Headers of other projects, parsed once for many sources. Half of a compilation from nothing is
# reading them; with a compiler cache it is not, and the cache wants none of this.
if(CCACHE_PROGRAM)
  set(precompile_default OFF)
else()
  set(precompile_default ON)
endif()
option(ATTNTOOLS_PRECOMPILE "Precompile the headers of other projects" ${precompile_default})

set(precompiled_std <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits> <map>
                    <memory> <optional> <span> <string> <string_view> <unordered_map> <utility>
                    <variant> <vector> <fmt/core.h> <fmt/ranges.h>)
set(precompiled_lib ${precompiled_std})
set(precompiled_tool ${precompiled_std} <nlohmann/json.hpp>)
set(precompiled_test ${precompiled_std} <gmock/gmock.h> <gtest/gtest.h>)

# attn_precompile(TARGET lib|tool|test): targets of one kind and one set of options share a file. A
# target of its own makes it, for the others have definitions of their own, with which it would not
# be valid elsewhere. To be called after attn_optimise.
function(attn_precompile target kind)
  if(NOT ATTNTOOLS_PRECOMPILE)
    return()
  endif()
  get_target_property(options ${target} COMPILE_OPTIONS)
  string(MD5 name "${kind} ${options}")
  set(name attn_precompiled_${name})
  if(NOT TARGET ${name})
    set(source ${CMAKE_BINARY_DIR}/${name}.cpp)
    file(WRITE ${source} "")
    add_library(${name} OBJECT ${source})
    target_link_libraries(${name} PRIVATE attn_settings fmt::fmt)
    if(kind STREQUAL test)
      target_link_libraries(${name} PRIVATE GTest::gmock_main)
    endif()
    if(options)
      target_compile_options(${name} PRIVATE ${options})
    endif()
    target_precompile_headers(${name} PRIVATE ${precompiled_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()
