#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Checks before the work what write_output would refuse after it. Throws UsageError when
/// `destination` ("-" is stdout) is a terminal, or is one of `inputs` (the same file by device and
/// inode, whatever its name; "-" among them is stdin). DataError when it is a directory, or its
/// folder does not exist.
void check_output(const std::string& destination, const std::vector<std::string>& inputs = {});

/// Writes all bytes to stdout ("-") or to a file. A regular file is never seen half written: the
/// bytes go to a temporary file in its folder that takes its place when it is whole and on disk.
/// That file has no name, or, where the file system has no such files, is a sibling
/// (.NAME.XXXXXX) that is removed on errors and on SIGINT, SIGTERM and SIGHUP. A symbolic link
/// stays, and what it leads to is replaced or made; the mode of a file that was there stays. FIFOs
/// and devices are written as they are. Throws UsageError for a terminal, DataError with the
/// system's reason ("No space left on device"). A reader that closes the pipe ends the process as
/// SIGPIPE does.
void write_output(const std::string& destination, std::span<const std::byte> bytes);

/// The same for text.
void write_output(const std::string& destination, std::string_view text);

/// What messages call a destination: "stdout" for "-", else the path, safe to print.
std::string output_name(const std::string& destination);

}  // namespace attn
