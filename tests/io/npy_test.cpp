#include "io/npy.h"

#include <gtest/gtest.h>

#include <string>

#include "core/text.h"

namespace attn {
namespace {

template <class T>
std::string header(const Tensor<T>& tensor) {
  const std::vector<std::byte> bytes = npy_bytes(tensor);
  const std::string_view text = as_text(bytes);
  EXPECT_TRUE(text.starts_with(std::string_view("\x93NUMPY\x01\x00", 8)));
  const std::size_t length = static_cast<unsigned char>(text[8]) +
                             256 * static_cast<std::size_t>(static_cast<unsigned char>(text[9]));
  // The format wants the numbers to begin at a multiple of 64 bytes, after a line end.
  EXPECT_EQ((10 + length) % 64, 0U);
  EXPECT_EQ(text[10 + length - 1], '\n');
  EXPECT_EQ(text.size(), 10 + length + tensor.values.size() * sizeof(T));
  const std::string_view dictionary = text.substr(10, length - 1);
  return std::string(dictionary.substr(0, dictionary.find_last_not_of(' ') + 1));
}

TEST(Npy, HeadersAreThePythonDictionaryThatNumpyWrites) {
  EXPECT_EQ(header(Tensor<float>({2, 3})),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(header(Tensor<double>({3})),
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }");
  EXPECT_EQ(header(Tensor<std::int64_t>(Shape{})),
            "{'descr': '<i8', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(header(Tensor<std::uint8_t>({0, 4})),
            "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4), }");
}

TEST(Npy, NumbersFollowInRowMajorOrder) {
  const Tensor<std::uint8_t> tensor({2, 2}, {1, 2, 3, 4});
  const std::vector<std::byte> bytes = npy_bytes(tensor);
  EXPECT_TRUE(as_text(bytes).ends_with("\x01\x02\x03\x04"));
}

}  // namespace
}  // namespace attn
