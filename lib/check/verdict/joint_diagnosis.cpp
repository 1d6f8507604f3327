#include "check/verdict/joint_diagnosis.h"

#include <algorithm>
#include <map>

namespace attn {

JointDiagnosis join_diagnoses(const std::vector<std::vector<std::string>>& found) {
  JointDiagnosis joint;
  if (found.empty()) return joint;
  std::vector<std::string> order;
  std::map<std::string, Index> counts;
  for (const std::vector<std::string>& names : found) {
    for (const std::string& name : names) {
      if (name == "numeric-error") continue;  // a name for having none
      if (counts[name]++ == 0) order.push_back(name);
    }
  }
  for (const std::string& name : order) {
    if (counts[name] == std::ssize(found)) joint.common.push_back(name);
  }
  if (!joint.common.empty()) return joint;
  for (const std::string& name : order) joint.others.emplace_back(name, counts[name]);
  std::stable_sort(joint.others.begin(), joint.others.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return joint;
}

}  // namespace attn
