#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "support/places.h"

// Where the truth made outside this project lies. A test over it has "Reference" or "Cases" in its
// name and walks these folders when it runs; it says how many files it held and skipped, and
// fails at none.
//
// ATTNTOOLS_CASES_DIR and ATTNTOOLS_REFERENCE_DIR point at other folders of the same form.
// Otherwise the truth is ../shared beside the source root, where there is one; with
// ATTNTOOLS_REQUIRE_TRUTH=1 there must be one. The project's own selection, tests/data, always
// counts.

namespace attn::testing {

inline bool truth_required() {
  const char* value = std::getenv("ATTNTOOLS_REQUIRE_TRUTH");
  return value != nullptr && std::string(value) == "1";
}

/// The places where `name` (a folder or a file of the truth called `kind`) exists.
inline std::vector<std::filesystem::path> truth_places(const std::string& kind,
                                                       const char* variable,
                                                       const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path source = source_folder();
  std::vector<fs::path> places;
  const auto place = [&](const fs::path& root) { return name.empty() ? root : root / name; };
  const char* elsewhere = std::getenv(variable);
  if (elsewhere != nullptr && *elsewhere != '\0') {
    if (fs::exists(place(elsewhere))) {
      places.push_back(place(elsewhere));
    } else {
      std::cout << "skipped: " << place(elsewhere) << " does not exist\n";
    }
  } else if (fs::exists(source / ".." / "shared")) {
    places.push_back(place(source / ".." / "shared" / kind));
  } else if (truth_required()) {
    ADD_FAILURE()
        << "ATTNTOOLS_REQUIRE_TRUTH is set, and ../shared does not exist beside the sources";
  }
  const fs::path own = place(source / "tests" / "data" / kind);
  if (fs::exists(own)) places.push_back(own);
  return places;
}

/// The folders called cases/NAME, or the files of that name.
inline std::vector<std::filesystem::path> case_places(const std::string& name) {
  return truth_places("cases", "ATTNTOOLS_CASES_DIR", name);
}

/// True of a file called .h5 or, whatever its name, one that begins as HDF5 does.
inline bool is_hdf5_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const std::string signature = "\x89HDF\r\n\x1a\n";
  std::string start(signature.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == signature || path.extension() == ".h5";
}

/// Every HDF5 file of the reference folders, in order of name.
inline std::vector<std::filesystem::path> reference_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& folder : truth_places("reference", "ATTNTOOLS_REFERENCE_DIR", "")) {
    std::vector<std::filesystem::path> here;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (is_hdf5_file(entry.path())) here.push_back(entry.path());
    }
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

/// Counts what a test over truth held and skipped; prints both at its end, and fails at none held.
class TruthCount {
 public:
  TruthCount() = default;
  TruthCount(const TruthCount&) = delete;
  TruthCount& operator=(const TruthCount&) = delete;
  ~TruthCount() {
    std::cout << "held " << held_ << " files, skipped " << skipped_ << '\n';
    EXPECT_GT(held_, 0) << "no truth was found to hold this to";
  }
  void hold() { ++held_; }
  void skip(const std::filesystem::path& file, const std::string& why) {
    ++skipped_;
    std::cout << "skipped " << file.filename().string() << ": " << why << '\n';
  }

 private:
  int held_ = 0;
  int skipped_ = 0;
};

}  // namespace attn::testing
