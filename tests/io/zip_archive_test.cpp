#include "io/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

std::string number(std::uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i) & 0xffU);
  return text;
}

struct Member {
  std::string name;
  std::string packed;
  std::uint64_t size = 0;
  std::uint64_t method = 0;
  std::uint64_t flags = 0;
  bool at_first = false;  // shares the first member's bytes
};

std::vector<std::byte> archive(const std::vector<Member>& members) {
  std::string text;
  std::string directory;
  for (const Member& m : members) {
    const std::size_t at = m.at_first ? 0 : text.size();
    if (!m.at_first) {
      text += number(0x04034b50, 4) + std::string(22, '\0') + number(m.name.size(), 2) +
              number(0, 2) + m.name + m.packed;
    }
    directory += number(0x02014b50, 4) + number(0, 4) + number(m.flags, 2) + number(m.method, 2) +
                 number(0, 4) + number(0, 4) + number(m.packed.size(), 4) + number(m.size, 4) +
                 number(m.name.size(), 2) + std::string(12, '\0') + number(at, 4) + m.name;
  }
  const std::size_t at = text.size();
  text += directory + number(0x06054b50, 4) + number(0, 4) + number(members.size(), 2) +
          number(members.size(), 2) + number(directory.size(), 4) + number(at, 4) + number(0, 2);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string complaint(const std::vector<Member>& members) {
  try {
    const std::vector<std::byte> bytes = archive(members);
    for (const ZipMember& member : zip_members(bytes, "z")) unpack(member, member.size, "z");
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing";
}

// "aaaa" as raw deflate, made by zlib.
const std::string kDeflated("\x4b\x4c\x4c\x4c\x04\x00", 6);

TEST(ZipArchive, GivesStoredAndDeflatedMembers) {
  const std::vector<std::byte> bytes = archive({{"a", "xyz", 3}, {"b", kDeflated, 4, 8}});
  const std::vector<ZipMember> members = zip_members(bytes, "z");
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(as_text(unpack(members[0], 3, "z")), "xyz");
  EXPECT_EQ(as_text(unpack(members[1], 4, "z")), "aaaa");
  EXPECT_EQ(as_text(unpack(members[1], 2, "z")), "aa");
}

TEST(ZipArchive, RefusesBombsBeforeTheyAreUnpacked) {
  EXPECT_THAT(complaint({{"a", kDeflated, 100000, 8}}), HasSubstr("claims 100000 bytes of 6"));
  EXPECT_THAT(complaint({{"a", "xyz", 4}}), HasSubstr("claims 4 bytes of 3"));
  EXPECT_THAT(complaint({{"a", std::string(99, 'x'), 99},
                         {"b", std::string(99, 'x'), 99, 0, 0, true},
                         {"c", std::string(99, 'x'), 99, 0, 0, true},
                         {"d", std::string(99, 'x'), 99, 0, 0, true},
                         {"e", std::string(99, 'x'), 99, 0, 0, true}}),
              HasSubstr("overlap"));
  EXPECT_THAT(complaint({{"a", kDeflated, 3, 8}}), HasSubstr("unpacks to more than its 3 bytes"));
  EXPECT_THAT(complaint({{"a", kDeflated, 5, 8}}), HasSubstr("does not unpack"));
}

TEST(ZipArchive, RefusesByNameWhatItCannotRead) {
  EXPECT_THAT(complaint({{"a", "xyz", 3, 0, 1}}), HasSubstr("a is encrypted"));
  EXPECT_THAT(complaint({{"a", "xyz", 3, 12}}), HasSubstr("compressed by method 12"));
  EXPECT_THAT(complaint({{"a", "x", 1}, {"a", "y", 1}}), HasSubstr("stands in it twice"));
}

}  // namespace
}  // namespace attn
