// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/sqlite.hpp>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

/// A temporary folder that is deleted with the object.
class temporary_folder {
public:
  temporary_folder() {
    auto name = (std::filesystem::temp_directory_path() / "superstep-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error{"cannot create a temporary folder"};
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    auto ignored = std::error_code{};
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name = "threads.db") const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  auto in = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Waits until all writes of a thread are saved or have failed.
inline void wait_until_saved(superstep::checkpointer& s,
                             const superstep::thread_key& of = {"t", ""}) {
  auto over = std::promise<void>{};
  if (s.when_saved(of, [&over] { over.set_value(); }))
    over.get_future().get();
}

/// Opens a checkpointer that does not wait for disk syncs, so that tests are fast.
inline std::shared_ptr<superstep::checkpointer>
open_checkpointer(const std::string& path, superstep::sqlite_checkpointer_options options = {}) {
  options.survives_power_loss = false;
  return superstep::sqlite_checkpointer(path, std::move(options));
}

/// A checkpointer on a file that stays open, so that its threads remain cached in memory.
class in_file {
public:
  in_file() { open(); }
  superstep::checkpointer& get() { return *checkpointer_; }
  void reopen() {}
  superstep::checkpointer& sqlite() { return *checkpointer_; }

protected:
  void open() { checkpointer_ = open_checkpointer(folder_.file()); }
  temporary_folder folder_;
  std::shared_ptr<superstep::checkpointer> checkpointer_;
};

/// A checkpointer on a file that reopen() closes and opens again, so that everything is read from
/// disk.
class in_reopened_file : public in_file {
public:
  void reopen() {
    checkpointer_.reset();
    open();
  }
};
