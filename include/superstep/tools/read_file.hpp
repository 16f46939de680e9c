// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <string>

namespace superstep {

/// Options of make_read_file().
struct read_file_options {
  std::string root;                    ///< folder with the files that may be read
  std::size_t max_bytes = 1024 * 1024; ///< of one file; a longer one is an error result
};

/// Makes the tool `read_file` with the argument `path`, relative to the root. Its result is the
/// content of a regular file. Neither `..` nor symbolic links lead out of the root, even if the
/// folders change during the call.
/// @return an error if the root is not a folder or a limit is 0
[[nodiscard]] result<tool_ptr> make_read_file(read_file_options options);

} // namespace superstep
