#include "attn-check/subject.h"

#include "check/case_arguments.h"
#include "io/provenance.h"

namespace attn {

Subject read_subject(const CheckOptions& o) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  if (o.input.empty()) {
    return {"numbers", "", case_from_arguments(o.names, o.attributes, limits), o.attributes};
  }
  const TensorFile reader = TensorFile::open(o.input, limits);
  const CaseAttributes attributes = merged(o.attributes, read_case_attributes(reader));
  return {reader.name(), read_history(reader), read_case(reader, attributes, o.names, limits),
          attributes};
}

}  // namespace attn
