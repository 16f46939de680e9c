// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/result_line.hpp"

#include <superstep/base/json.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <unistd.h>

namespace superstep::results::testing {

/// A folder with output files, removed at the end.
class output_files {
public:
  output_files() : folder_{"/tmp/superstep_results_test." + std::to_string(::getpid())} {
    std::filesystem::create_directories(folder_);
  }
  output_files(const output_files&) = delete;
  output_files& operator=(const output_files&) = delete;
  ~output_files() { std::filesystem::remove_all(folder_); }

  /// Writes a file and returns its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ + '/' + name, std::ios::binary} << text;
    return folder_ + '/' + name;
  }

private:
  std::string folder_;
};

/// Returns an output line of a row that succeeded.
inline std::string ok_line(const std::string& id, const std::string& answer, int wall_ms = 10,
                           int tokens = 5) {
  auto line = json::object{};
  line["id"] = id;
  line["status"] = "ok";
  line["output"] = {{"messages", json::array{json::object{{"type", "human"}, {"content", "q"}},
                                             json::object{{"type", "ai"}, {"content", answer}}}}};
  line["error"] = nullptr;
  line["usage"] = {{"input_tokens", tokens}, {"output_tokens", 1}, {"total_tokens", tokens + 1}};
  line["cost"] = nullptr;
  line["steps"] = 1;
  line["model_calls"] = 1;
  line["tool_calls"] = 0;
  line["wall_ms"] = wall_ms;
  line["attempt"] = 1;
  return superstep::to_text(line) + '\n';
}

/// Returns an output line of a row that failed.
inline std::string failed_line(const std::string& id, const std::string& kind,
                               const std::string& message = "it failed") {
  auto line = json::object{};
  line["id"] = id;
  line["status"] = "error";
  line["output"] = {{"messages", json::array{}}};
  line["error"] = {{"kind", kind}, {"message", message}, {"attempts", 1}};
  line["wall_ms"] = 1;
  return superstep::to_text(line) + '\n';
}

/// Reads one line.
inline result_line read(const std::string& line) {
  auto parser = simdjson::dom::parser{};
  auto object = simdjson::dom::object{};
  BOOST_REQUIRE(parser.parse(line).get(object) == simdjson::SUCCESS);
  return read_result_line(object);
}

} // namespace superstep::results::testing
