// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <string>

namespace superstep {

struct read_file_options {
  std::string root;                    ///< folder whose files may be read, and nothing outside it
  std::size_t max_bytes = 1024 * 1024; ///< of one file; a longer one is an error result
};

/// `read_file`, with the argument `path`, relative to the root: the content of a regular file. No
/// `..` and no symbolic link leads out of the root, also when the tree changes meanwhile.
/// Errors: the root is no folder, a bound of 0.
[[nodiscard]] result<tool_ptr> make_read_file(read_file_options options);

} // namespace superstep
