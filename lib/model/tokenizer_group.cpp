#include "model/tokenizer_group.h"

#include <fmt/core.h>

#include <utility>

#include "core/error.h"

namespace attn {
namespace {

// The attributes of /tokenizer that name special tokens.
constexpr std::pair<const char*, std::optional<Index> SpecialTokens::*> kSpecials[] = {
    {"bos", &SpecialTokens::bos},
    {"eos", &SpecialTokens::eos},
    {"pad", &SpecialTokens::pad},
    {"mask", &SpecialTokens::mask}};

}  // namespace

void write_tokenizer(Hdf5Writer& writer, const Tokenizer& tokenizer) {
  const TokenizerData data = tokenizer.data();
  writer.group("/tokenizer");
  writer.attribute("/tokenizer", "kind", data.kind);
  writer.attribute("/tokenizer", "vocab_size", data.vocab_size);
  for (const auto& [name, role] : kSpecials) {
    const std::optional<Index>& id = data.specials.*role;
    if (id) writer.attribute("/tokenizer", name, *id);
  }
  for (const auto& entry : data.datasets) {
    writer.dataset("/tokenizer/" + entry.first, {static_cast<Index>(entry.second.size())},
                   entry.second.data());
  }
}

std::shared_ptr<const Tokenizer> read_tokenizer(const Hdf5Reader& reader, Index vocab_size,
                                                const char* whose) {
  if (!reader.has_group("/tokenizer")) return nullptr;
  TokenizerData data;
  const auto kind = reader.text_attribute("/tokenizer", "kind");
  const auto stated = reader.int_attribute("/tokenizer", "vocab_size");
  if (!kind || !stated) {
    throw DataError(
        fmt::format("{}: /tokenizer: wanted attributes kind and vocab_size, {} is missing",
                    reader.name(), kind ? "vocab_size" : "kind"));
  }
  data.kind = *kind;
  data.vocab_size = *stated;
  for (const auto& [name, role] : kSpecials) {
    data.specials.*role = reader.int_attribute("/tokenizer", name);
    if (data.specials.*role && (*(data.specials.*role) < 0 || *(data.specials.*role) >= *stated)) {
      throw DataError(fmt::format("{}: /tokenizer: attribute {}: wanted an id below {}, got {}",
                                  reader.name(), name, *stated, *(data.specials.*role)));
    }
  }
  constexpr Index kMostTables = 16;
  for (const std::string& name : reader.children("/tokenizer", kMostTables)) {
    data.datasets[name] = reader.read<std::uint8_t>("/tokenizer/" + name).values;
  }
  if (data.vocab_size != vocab_size) {
    throw DataError(fmt::format("{}: /tokenizer has {} tokens, {} {}", reader.name(),
                                data.vocab_size, whose, vocab_size));
  }
  try {
    return make_tokenizer(data);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", reader.name(), error.what()));
  }
}

}  // namespace attn
