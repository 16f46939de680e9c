// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace superstep::models {

/// Reads a whole file into memory. Called once per model, before the first run.
///
/// @return model_errc::bad_configuration if the file cannot be read or is larger than `bytes_max`;
/// errc::shortage if descriptors or memory are exhausted
[[nodiscard]] inline result<std::string> read_text_file(const std::string& path,
                                                        std::size_t bytes_max) {
  auto failed = std::error_code{};
  const auto size = std::filesystem::file_size(path, failed);
  if (failed)
    return error{model_errc::bad_configuration,
                 "cannot read \"" + path + "\": " + failed.message()};
  if (size > bytes_max)
    return error{model_errc::bad_configuration, "\"" + path + "\" is larger than " +
                                                    std::to_string(bytes_max) +
                                                    " bytes; raise file_bytes_max"};
  auto out = std::string(static_cast<std::size_t>(size), '\0');
  errno = 0;
  auto in = std::ifstream{path, std::ios::binary};
  if (in.is_open() && in.read(out.data(), static_cast<std::streamsize>(out.size())))
    return out;
  const auto code = std::error_code{errno, std::generic_category()};
  return error{is_shortage(code) ? make_error_code(errc::shortage)
                                 : make_error_code(model_errc::bad_configuration),
               "cannot read \"" + path +
                   "\": " + (code ? code.message() : "the file became shorter while it was read")};
}

} // namespace superstep::models
