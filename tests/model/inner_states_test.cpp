#include "model/inner_states.h"

#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "support/model_inputs.h"
#include "text/id_tokenizer.h"

// Logits and hidden states as they are dumped, against PyTorch: the first sequence of each file
// whose rows are all real.

namespace attn {
namespace {

using testing::ModelInputs;
using testing::Reference;

std::span<const Index> first_of(const std::vector<Index>& ids, Index length) {
  return std::span(ids).first(static_cast<std::size_t>(length));
}

bool padded(const std::vector<std::uint8_t>& mask, Index length) {
  return !mask.empty() && std::count(mask.begin(), mask.begin() + length, 0) > 0;
}

TEST(ReferenceInnerStates, AreThoseOfTheFirstSequence) {
  testing::hold_model_files([](const Reference& file) {
    const auto model = read_model<float>(file.reader());
    const ModelInputs all = testing::model_inputs(file).front();
    if (padded(all.mask, all.seq_len) || padded(all.source_mask, all.source_len)) return;
    const IdTokenizer tokenizer(model->config().vocab_size);
    const IdTokenizer source_tokenizer(std::max(model->config().source_vocab_size, Index{1}));
    const InnerStates states = inner_states(*model, first_of(all.ids, all.seq_len), tokenizer,
                                            first_of(all.source, all.source_len),
                                            all.source_len > 0 ? &source_tokenizer : nullptr, 2);
    ASSERT_EQ(states.tokens.size(), static_cast<std::size_t>(all.seq_len));
    const auto expect_first = [&](const std::string& path, const Tensor<float>& found) {
      const auto truth = file.reader().read<double>(path);
      const std::string group = path.substr(0, path.rfind('/'));
      const auto own = file.reader().real_attribute(path, "tolerance_abs");
      const double limit = own ? *own : file.real("tolerance_abs", group);
      ASSERT_EQ(truth.size() / truth.dim(0), found.size()) << path;
      for (std::size_t i = 0; i < found.values.size(); ++i) {
        ASSERT_NEAR(found.values[i], truth.values[i], limit) << path << '[' << i << ']';
      }
    };
    expect_first("/expected/logits", states.logits);
    if (!file.has("/expected/hidden")) return;
    const std::vector<std::string> names = file.reader().children("/expected/hidden");
    EXPECT_EQ(states.hidden.size(), names.size());
    for (const std::string& name : names) {
      ASSERT_EQ(states.hidden.count(name), 1U) << name;
      expect_first("/expected/hidden/" + name, states.hidden.at(name));
    }
  });
}

}  // namespace
}  // namespace attn
