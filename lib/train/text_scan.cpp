#include "train/text_scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "io/xxh3.h"

namespace attn {
namespace {

constexpr std::size_t kBlock = std::size_t{4} << 20;  // bytes held in memory during the pass

class Scanner {
 public:
  explicit Scanner(TextUnit unit) : unit_(unit) {}

  TextScan::File scan(ByteSource source) {
    TextScan::File file;
    const std::string_view text = as_text(source.bytes());
    std::size_t at = 0;
    for (std::size_t block = 0; block < text.size(); block += kBlock) {
      const std::size_t end = std::min(block + kBlock, text.size());
      digest_.add(text.substr(block, end - block));
      if (unit_ == TextUnit::kBytes) {
        for (; at < end; ++at) ++low_[static_cast<unsigned char>(text[at])];
        file.tokens = static_cast<Index>(at);
      } else {
        at = scan_characters(source.name(), text, at, end, file);
      }
      source.forget(static_cast<Index>(block), static_cast<Index>(end - block));
    }
    file.one_byte_each = file.tokens == static_cast<Index>(text.size());
    if (file.one_byte_each) file.offsets = {};
    file.source = std::make_shared<const ByteSource>(std::move(source));
    return file;
  }

  std::map<std::uint32_t, Index> counts() const {
    std::map<std::uint32_t, Index> all = high_;
    for (std::size_t code = 0; code < low_.size(); ++code) {
      if (low_[code] > 0) all[static_cast<std::uint32_t>(code)] += low_[code];
    }
    return all;
  }

  std::string digest() const { return "xxh3-128:" + digest_.text(); }

 private:
  // Characters that begin before `end`; returns where the next one does.
  std::size_t scan_characters(const std::string& name, std::string_view text, std::size_t at,
                              std::size_t end, TextScan::File& file) {
    while (at < end) {
      if (file.tokens % TextScan::kStride == 0) file.offsets.push_back(static_cast<Index>(at));
      const auto lead = static_cast<unsigned char>(text[at]);
      std::size_t length = 1;
      if (lead < 0x80) {
        ++low_[lead];
      } else {
        length = utf8_length(text.substr(at));
        if (length == 0) {
          throw DataError(fmt::format("{}: invalid UTF-8 at byte {} (0x{:02x})", name, at, lead),
                          {"--tokenizer bytes takes any bytes"});
        }
        ++high_[code_point(text.substr(at, length))];
      }
      ++file.tokens;
      at += length;
    }
    return at;
  }

  TextUnit unit_;
  Xxh3 digest_;
  std::array<Index, 256> low_{};
  std::map<std::uint32_t, Index> high_;
};

}  // namespace

std::vector<ByteSource> open_text(const std::vector<std::string>& files, Index max_bytes) {
  std::vector<ByteSource> opened;
  opened.reserve(files.size());
  for (const std::string& file : files) opened.push_back(ByteSource::open(file, max_bytes));
  return opened;
}

std::string TextScan::name() const {
  const std::string& first = files.front().source->name();
  return files.size() == 1 ? first : fmt::format("{} and {} more", first, files.size() - 1);
}

std::string TextScan::vocabulary() const {
  std::string characters;
  for (const auto& entry : counts) characters += utf8_character(entry.first);
  return characters;
}

TextScan scan_text(std::vector<ByteSource> files, TextUnit unit) {
  require_shape(!files.empty(), "scan_text: no files");
  Scanner scanner(unit);
  TextScan scan;
  scan.unit = unit;
  for (ByteSource& file : files) scan.files.push_back(scanner.scan(std::move(file)));
  scan.counts = scanner.counts();
  scan.digest = scanner.digest();
  return scan;
}

}  // namespace attn
