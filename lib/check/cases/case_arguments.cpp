#include "check/cases/case_arguments.h"

namespace attn {

AttentionCase case_from_arguments(const CaseNames& arguments, const CaseAttributes& attributes,
                                  const ReadLimits& limits) {
  return assemble_case(CaseSource(arguments, limits), attributes);
}

}  // namespace attn
