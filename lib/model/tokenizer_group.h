#pragma once

#include <memory>

#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "text/tokenizer.h"

namespace attn {

/// Writes a tokenizer as the group /tokenizer: its kind, size and special tokens as attributes, its
/// tables as datasets of bytes.
void write_tokenizer(Hdf5Writer& writer, const Tokenizer& tokenizer);

/// The tokenizer of a file; null where it has none. Throws DataError, which names the file, for a
/// group that is none of a tokenizer's and for one that has not `vocab_size` tokens; `whose` calls
/// what has so many ("the model").
std::shared_ptr<const Tokenizer> read_tokenizer(const Hdf5Reader& reader, Index vocab_size,
                                                const char* whose);

}  // namespace attn
