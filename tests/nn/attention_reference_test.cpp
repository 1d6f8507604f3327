#include <gtest/gtest.h>

#include "nn/attention.h"
#include "support/reference.h"
#include "support/truth.h"

// Single attention layers against PyTorch, in float and in double: a pass with its gradients, and
// decoding with and without a cache, whose rows are counted.

namespace attn {
namespace {

using testing::Reference;

constexpr const char* kKind = "attention";

AttentionConfig config_of(const Reference& file) {
  AttentionConfig c;
  c.dim = file.count("dim");
  c.heads = file.count("heads");
  c.kv_heads = file.count("kv_heads");
  c.head_dim = file.count("head_dim");
  c.bias = file.count("bias") == 1;
  c.cross = file.reader().int_attribute("/", "cross").value_or(0) == 1;
  // Files of decoding say nothing: they are causal.
  c.causal = file.reader().int_attribute("/", "causal").value_or(1) == 1;
  c.alibi = file.text("position") == "alibi";
  if (file.text("position") == "rope") c.rope_base = file.real("rope_base", "/");
  c.rope_pairs =
      file.text("rope_style") == "interleaved" ? RopePairs::kInterleaved : RopePairs::kHalves;
  return c;
}

// The layer with the file's parameters.
template <class T>
struct Layer {
  ParamStore<T> params;
  Attention<T> attention;
  Workspace work;

  explicit Layer(const Reference& file) : attention(params, "", config_of(file)) {
    params.allocate();
    EXPECT_EQ(file.reader().children("/parameters").size(), params.list().size());
    for (const ParamInfo& info : params.list()) {
      const std::string path = "/parameters/" + info.name;
      EXPECT_EQ(file.reader().info(path).shape, info.shape) << path;
      file.reader().read_rows<T>(path, 0, info.shape[0], params.values() + info.place.offset);
    }
  }
};

template <class T>
void hold_pass(const Reference& file) {
  Layer<T> layer(file);
  const AttentionConfig& c = layer.attention.config();
  const auto x = file.reader().read<T>("/input/x");
  const auto upstream = file.reader().read<T>("/input/upstream");
  Sequences rows{x.dim(0), x.dim(1), nullptr};
  Tensor<T> other;
  Context<T> context;
  std::vector<std::uint8_t> mask;
  if (file.has("/input/key_mask"))
    mask = file.reader().read<std::uint8_t>("/input/key_mask").values;
  if (c.cross) {
    other = file.reader().read<T>("/input/context");
    context = {other.matrix(), {other.dim(0), other.dim(1), mask.empty() ? nullptr : mask.data()}};
  } else if (!mask.empty()) {
    rows.key_mask = mask.data();
  }

  Probe<T> probe;
  probe.want_weights = true;
  Pass<T> pass{layer.params.values(), layer.work, &probe, nullptr};
  AttentionTape<T> tape;
  const Matrix<T> y =
      layer.attention.forward(pass, x.matrix(), rows, c.cross ? &context : nullptr, nullptr, &tape);
  file.expect_near("/expected/output", y.data(), y.size());
  file.expect_near("/expected/weights", probe.weights.at("").values);
  // A hidden key has weight exactly 0.
  const Tensor<double> truth = file.reader().read<double>("/expected/weights");
  for (std::size_t i = 0; i < truth.values.size(); ++i) {
    ASSERT_TRUE(truth.values[i] != 0 || probe.weights.at("").values[i] == 0) << i;
  }

  std::vector<T> gradients(static_cast<std::size_t>(layer.params.size()), T{0});
  Tensor<T> d_x(x.shape);
  Tensor<T> d_other(other.shape);
  layer.attention.backward({layer.params.values(), gradients.data(), layer.work.arena()}, tape,
                           upstream.matrix(), d_x.matrix(),
                           c.cross ? d_other.matrix() : Matrix<T>());
  file.expect_near("/expected/gradient_x", d_x.values);
  if (c.cross) file.expect_near("/expected/gradient_context", d_other.values);
  for (const ParamInfo& info : layer.params.list()) {
    file.expect_near("/expected/gradients/" + info.name, gradients.data() + info.place.offset,
                     info.place.size());
  }
}

// Rows first .. first + count - 1 of every sequence.
template <class T>
Tensor<T> cut(const Tensor<T>& x, Index first, Index count) {
  Tensor<T> part({x.dim(0), count, x.dim(2)});
  for (Index b = 0; b < x.dim(0); ++b) {
    const T* from = x.matrix().row(b * x.dim(1) + first);
    std::copy_n(from, count * x.dim(2), part.matrix().row(b * count));
  }
  return part;
}

// The layer's output with a cache, the first pass of `prompt` rows and then row by row.
template <class T>
Tensor<T> decode(Layer<T>& layer, const Tensor<T>& x, Index prompt, KvSlot<T>& slot,
                 KeyRowCounts& counts) {
  Tensor<T> all(x.shape);
  const Pass<T> pass{layer.params.values(), layer.work, nullptr, &counts};
  for (Index first = 0; first < x.dim(1);) {
    const Index count = first == 0 ? prompt : 1;
    const Arena::Scope scope(layer.work.arena());
    const Tensor<T> part = cut(x, first, count);
    const Matrix<T> y = layer.attention.forward(pass, part.matrix(), {x.dim(0), count, nullptr},
                                                nullptr, &slot, nullptr);
    for (Index row = 0; row < y.rows(); ++row) {
      const Index at = row / count * x.dim(1) + first + row % count;
      std::copy_n(y.row(row), y.cols(), all.matrix().row(at));
    }
    first += count;
  }
  return all;
}

// The slot's rows as the file has them: (batch, kv_heads, n, head_dim).
template <class T>
std::vector<T> heads_first(const KvSlot<T>& slot, const AttentionConfig& c, bool keys) {
  std::vector<T> all;
  Arena arena;
  for (Index b = 0; b < slot.batch(); ++b) {
    for (Index head = 0; head < c.kv_heads; ++head) {
      for (const KvRun<T>& run : slot.runs(b, arena)) {
        const Matrix<const T> rows = keys ? run.k : run.v;
        for (Index i = 0; i < rows.rows(); ++i) {
          const T* from = rows.row(i) + head * c.head_dim;
          all.insert(all.end(), from, from + c.head_dim);
        }
      }
    }
  }
  return all;
}

template <class T>
void hold_cache(const Reference& file) {
  Layer<T> layer(file);
  const AttentionConfig& c = layer.attention.config();
  const auto x = file.reader().read<T>("/input/x");
  const Index n = x.dim(1);

  KeyRowCounts counts;
  const Pass<T> pass{layer.params.values(), layer.work, nullptr, &counts};
  const Matrix<T> y =
      layer.attention.forward(pass, x.matrix(), {x.dim(0), n, nullptr}, nullptr, nullptr, nullptr);
  file.expect_near("/expected/output", y.data(), y.size());

  const Index prompt = file.count("prompt_len");
  for (const Index page_size : {Index{0}, Index{1}, Index{3}}) {
    SCOPED_TRACE(page_size);
    const KvShape shape{1, x.dim(0), n, c.kv_heads, c.head_dim, {page_size}};
    KvCache<T> cache(shape);
    KeyRowCounts cached;
    file.expect_near("/expected/output_cached", decode(layer, x, 1, cache.self(0), cached).values);
    EXPECT_EQ(cached.each(), file.count("key_rows_cached", "/expected"));
    file.expect_near("/expected/key_cache", heads_first(cache.self(0), c, true));
    file.expect_near("/expected/value_cache", heads_first(cache.self(0), c, false));

    KvCache<T> again(shape);
    KeyRowCounts prefilled;
    file.expect_near("/expected/output_cached",
                     decode(layer, x, prompt, again.self(0), prefilled).values);
    EXPECT_EQ(prefilled.each(), file.count("key_rows_prefilled", "/expected"));
    EXPECT_EQ(again.bytes_of_rows() / static_cast<Index>(sizeof(T)) * 4,
              file.count("cache_bytes_float32", "/expected"));
  }

  KeyRowCounts again;
  for (Index length = 1; length <= n; ++length) {
    const Arena::Scope scope(layer.work.arena());
    const Pass<T> counted{layer.params.values(), layer.work, nullptr, &again};
    const Tensor<T> start = cut(x, 0, length);
    layer.attention.forward(counted, start.matrix(), {x.dim(0), length, nullptr}, nullptr, nullptr,
                            nullptr);
  }
  EXPECT_EQ(again.each(), file.count("key_rows_recomputed", "/expected"));
}

template <class T>
void hold_every_file() {
  testing::TruthCount count;
  for (const auto& path : testing::reference_files()) {
    SCOPED_TRACE(path.string());
    const Reference file(path);
    if (file.text("arch") != kKind) {
      count.skip(path, "arch '" + file.text("arch") + "'");
    } else if (file.has("/expected/key_cache")) {
      count.hold();
      hold_cache<T>(file);
    } else if (file.has("/input/upstream")) {
      count.hold();
      hold_pass<T>(file);
    } else {
      count.skip(path, "neither a pass nor a cache");
    }
  }
}

TEST(ReferenceAttention, InFloat) {
  hold_every_file<float>();
}

TEST(ReferenceAttention, InDouble) {
  hold_every_file<double>();
}

}  // namespace
}  // namespace attn
