// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/process.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace superstep::test {

/// A separate server process that prints its port and ends when its standard input ends.
class server_process {
public:
  server_process(const std::string& program, const std::vector<std::string>& arguments)
      : child_{boost::process::exe = program, boost::process::args = arguments,
               boost::process::std_out > output_, boost::process::std_in < input_} {
    output_ >> port_;
    output_.get(); // the end of the line
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process() {
    input_.pipe().close();
    child_.wait();
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string read_line() {
    auto out = std::string{};
    std::getline(output_, out);
    return out;
  }

private:
  boost::process::ipstream output_;
  boost::process::opstream input_;
  boost::process::child child_;
  int port_ = 0;
};

/// The model server for `rows` rows of two turns: text and two calls, then a text.
class chat_server : public server_process {
public:
  explicit chat_server(std::vector<std::string> arguments, int rows = 1'000)
      : server_process{CHAT_SERVER, with_files(std::move(arguments), rows)} {
    std::filesystem::remove(base() + "_in.jsonl"); // read before the port is printed
    std::filesystem::remove(base() + "_turns.jsonl");
  }

private:
  static std::string base() {
    return (std::filesystem::temp_directory_path() /
            ("superstep_chat_" + std::to_string(::getpid())))
        .string();
  }
  static std::vector<std::string> with_files(std::vector<std::string> arguments, int rows) {
    const auto input = base() + "_in.jsonl";
    const auto turns = base() + "_turns.jsonl";
    auto in = std::ofstream{input};
    auto out = std::ofstream{turns};
    for (auto i = 0; i < rows; ++i) {
      const auto n = std::to_string(i);
      in << R"({"custom_id":"r)" << n << R"(","messages":[{"role":"user","content":"question )" << n
         << "\"}]}\n";
      out << R"({"custom_id":"r)" << n
          << R"(","turns":[{"role":"assistant","content":"thinking","tool_calls":[)"
          << R"({"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": )" << n
          << R"(}"}},)"
          << R"({"id":"b","type":"function","function":{"name":"g","arguments":"{\"text\": \"é and more\"}"}}]},)"
          << R"({"role":"assistant","content":"answer )" << n << "\"}]}\n";
    }
    arguments.insert(arguments.end(), {"--input", input, "--recorded", turns});
    return arguments;
  }
};

} // namespace superstep::test
