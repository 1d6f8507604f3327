#pragma once

#include <string>
#include <vector>

namespace attn {

/// How a diagnosis was come by.
enum class DiagnosisKind {
  kMistake,   // this one mistake alone gives what was recorded
  kTogether,  // it does with another one, named in the detail
  kSymptom,   // what the numbers or a broken law show, whatever brought it about
  kUnknown,   // nothing that has a name fits
};

/// What explains a failure.
struct Diagnosis {
  std::string name;    // "window-off-by-one"
  std::string detail;  // what was found, in numbers: "left 5 where 4 was wanted"; may be empty
  DiagnosisKind kind = DiagnosisKind::kMistake;
};

/// "mistake", "together", "symptom", "unknown".
const char* diagnosis_kind_name(DiagnosisKind kind);

std::vector<std::string> names_of(const std::vector<Diagnosis>& diagnosis);

}  // namespace attn
