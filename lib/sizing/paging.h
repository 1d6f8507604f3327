#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// Tokens reserved for sequences and tokens used, by one way of reserving.
struct Reservation {
  std::string name = "";  ///< "contiguous", "power of two", "pages of 16"
  Index page = 0;         ///< tokens of a page; 0 where there are none
  Index reserved = 0;     ///< tokens
  Index used = 0;         ///< tokens that are there, a shared prefix once
  Index table = 0;        ///< entries of the page tables
  double waste() const;   ///< 1 - used / reserved
};

/// How sequences of these lengths are held: contiguously at `longest`; contiguously in buffers that
/// double from 16 tokens on; in pages of each of `pages` tokens. With a shared prefix, pages that
/// are full of it are held once for all sequences; the other ways copy it. Kwon et al. 2023
/// (arXiv:2309.06180) section 2 and figure 2 for what this compares. Throws UsageError for a length
/// above `longest`, a prefix longer than a sequence, and for sums that leave 63 bits.
std::vector<Reservation> reservations(const std::vector<Index>& lengths, Index longest,
                                      const std::vector<Index>& pages, Index shared_prefix);

/// Lengths by a distribution: "uniform:LOW:HIGH", "geometric:MEAN", "lognormal:MEAN:SIGMA" (of the
/// logarithm), `count` of them, at most `longest`, at least 1. Reproducible from the seed.
std::vector<Index> drawn_lengths(std::string_view distribution, Index count, Index longest,
                                 Index seed);
/// True where the text begins as a distribution does.
bool is_distribution(std::string_view text);

/// Whole numbers of 1 or more, apart by blanks, commas or line ends; lines that begin with # are
/// left out. Throws DataError that names the input.
std::vector<Index> parsed_lengths(std::string_view text, const std::string& name);

}  // namespace attn
