#include "check/verdict/diagnosis.h"

namespace attn {

const char* diagnosis_kind_name(DiagnosisKind kind) {
  switch (kind) {
    case DiagnosisKind::kMistake:
      return "mistake";
    case DiagnosisKind::kTogether:
      return "together";
    case DiagnosisKind::kSymptom:
      return "symptom";
    case DiagnosisKind::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<std::string> names_of(const std::vector<Diagnosis>& diagnosis) {
  std::vector<std::string> names;
  for (const Diagnosis& one : diagnosis) names.push_back(one.name);
  return names;
}

}  // namespace attn
