// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/file.hpp"

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::cli {

/// The files of a provider's batch API. A file has requests for one model only, and at most as many
/// lines and bytes as the provider accepts.
/// @par Threads
/// add() may be called by any thread.
class request_files {
public:
  /// Limits of one file; the defaults are those of OpenAI.
  struct limits {
    std::uint64_t lines_max = 50'000;
    std::uint64_t bytes_max = 200'000'000;
  };

  /// @param path path of the first file; the others get a number before the extension
  request_files(std::string path, limits most) : path_{std::move(path)}, limits_{most} {}

  /// Adds a request. Fails if the id was added before, or if a file exists or cannot be written.
  [[nodiscard]] result<void> add(const std::string& key, const std::string& model,
                                 std::string_view body);
  /// Writes what is buffered.
  [[nodiscard]] result<void> close();
  /// The files and their numbers of lines, in the order of their creation.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> files() const;
  /// Number of requests.
  [[nodiscard]] std::uint64_t count() const noexcept { return keys_.size(); }

private:
  struct one_file {
    detail::file to;
    std::string path;
    std::string buffer;
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] result<one_file*> next_file(const std::string& model, std::size_t bytes);
  [[nodiscard]] result<void> write_buffer(one_file& file);

  std::string path_;
  limits limits_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> keys_;
  std::optional<error> failed_; ///< the first failed write, after which a file is incomplete
  std::vector<std::unique_ptr<one_file>> files_;
  std::map<std::string, one_file*> by_model_; // the file that is being filled
};

/// A model that writes its requests to files. Its answers are empty.
class request_writer final : public chat_model {
public:
  request_writer(provider_model_options options, std::shared_ptr<request_files> files)
      : options_{std::move(options)}, files_{std::move(files)} {}
  [[nodiscard]] task<result<message>> complete(model_request request) const override;
  [[nodiscard]] std::string fingerprint() const override { return "batch-api export"; }

private:
  provider_model_options options_;
  std::shared_ptr<request_files> files_;
};

/// A model whose answers are in the answer files of a provider's batch API. Reads the files of
/// OpenAI and vLLM.
class answer_files final : public chat_model {
public:
  /// Indexes the files, in 40 bytes per line. Fails for two answers to one request.
  [[nodiscard]] static result<std::shared_ptr<const answer_files>>
  open(const std::vector<std::string>& paths);
  [[nodiscard]] task<result<message>> complete(model_request request) const override;
  [[nodiscard]] std::string fingerprint() const override { return "batch-api import"; }

private:
  struct place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };
  [[nodiscard]] result<message> read(const std::string& key) const;

  std::vector<detail::file> files_;
  std::map<std::string, place, std::less<>> answers_;
};

} // namespace superstep::cli
