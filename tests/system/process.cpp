// SPDX-License-Identifier: Apache-2.0
// Child processes, jobs and JSONL rows for tests of the whole program.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <csignal>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace superstep::testing {
namespace {

constexpr auto poll = std::chrono::milliseconds{2};

std::string environment(const char* name) {
  const auto* value = std::getenv(name);
  return value ? value : "";
}

} // namespace

process::process(const std::vector<std::string>& arguments, child_input input) {
  auto argv = std::vector<char*>{};
  for (const auto& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  auto actions = posix_spawn_file_actions_t{};
  posix_spawn_file_actions_init(&actions);
  const auto create = O_WRONLY | O_CREAT | O_TRUNC;
  auto ends = std::array{-1, -1};
  if (input == child_input::held_open) {
    // Closed in every child: if a child kept this end open, the reader would never see the end of
    // file.
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw std::system_error{errno, std::generic_category(), "cannot make a pipe"};
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_addopen(&actions, 1, (folder_ / "out").c_str(), create, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (folder_ / "err").c_str(), create, 0600);
  const auto failed = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (ends[0] >= 0)
    ::close(ends[0]);
  input_ = ends[1];
  if (failed != 0)
    throw std::system_error{failed, std::generic_category(), "cannot start " + arguments[0]};
}

process::~process() {
  close_input();
  if (has_ended_)
    return;
  send(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void process::send(int signal) const {
  if (!has_ended_)
    ::kill(pid_, signal);
}

void process::close_input() {
  if (input_ >= 0)
    ::close(std::exchange(input_, -1));
}

std::string process::read_line(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto is_last_look = wait_for(poll) || std::chrono::steady_clock::now() >= until;
    const auto text = read_file(folder_ / "out");
    if (const auto end = text.find('\n'); end != std::string::npos)
      return text.substr(0, end);
    if (is_last_look)
      throw std::runtime_error{"the process printed no line: " + read_file(folder_ / "err")};
  }
}

bool process::wait_for(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!has_ended_) {
    has_ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    if (has_ended_ || std::chrono::steady_clock::now() >= until)
      break;
    std::this_thread::sleep_for(poll);
  }
  return has_ended_;
}

ended_process process::wait(std::chrono::milliseconds time) {
  if (!wait_for(time)) {
    send(SIGKILL);
    static_cast<void>(wait_for(std::chrono::minutes{1}));
  }
  auto end = ended_process{};
  end.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  end.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  end.out = read_file(folder_ / "out");
  end.err = read_file(folder_ / "err");
  return end;
}

std::string program(std::string_view name) {
  return environment("SUPERSTEP_BIN_DIR") + '/' + std::string{name};
}

std::string helper_program(std::string_view name) {
  return environment("SUPERSTEP_BIN_DIR") + "/../tests/" + std::string{name};
}

std::string superstep_program() {
  return program("superstep");
}

std::string shared_data(std::string_view name) {
  auto path = environment("SUPERSTEP_SHARED") + "/data/" + std::string{name};
  return std::filesystem::exists(path) ? path : std::string{};
}

std::vector<std::string> cli_job::arguments(const std::vector<std::string>& more) const {
  auto all = std::vector<std::string>{superstep_program(), "run",  agent,        "--input", input,
                                      "--output",          output, "--progress", "none"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

ended_process cli_job::run(const std::vector<std::string>& more) const {
  return process{arguments(more)}.wait();
}

std::vector<json::object> read_objects(std::string_view jsonl) {
  auto out = std::vector<json::object>{};
  for (auto end = jsonl.find('\n'); end != std::string_view::npos; end = jsonl.find('\n')) {
    const auto line = jsonl.substr(0, end);
    out.push_back(json::parse({line.data(), line.size()}).as_object());
    jsonl.remove_prefix(end + 1);
  }
  return out;
}

std::string text_at(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains({name.data(), name.size()});
  return value && value->is_string() ? std::string{value->get_string()} : std::string{};
}

rows_by_key read_rows(std::string_view jsonl) {
  auto out = rows_by_key{};
  for (auto& row : read_objects(jsonl)) {
    auto key = text_at(row, row.contains("custom_id") ? "custom_id" : "id");
    for (const auto* name : {"wall_ms", "barrier_wait_ms", "attempt", "job_id"})
      row.erase(name);
    if (!out.emplace(key, std::move(row)).second)
      throw std::runtime_error{"repeated row: " + key};
  }
  return out;
}

const json::array& messages_of(const json::object& row) {
  return row.at("output").at("messages").as_array();
}

void check_equal_rows(const rows_by_key& found, const rows_by_key& expected) {
  BOOST_TEST(found.size() == expected.size());
  auto shown = 0;
  for (const auto& [key, row] : expected) {
    const auto other = found.find(key);
    if (other != found.end() && other->second == row)
      continue;
    if (++shown > 10)
      return;
    BOOST_ERROR("row " << key << (other == found.end() ? " is missing" : " differs: ")
                       << (other == found.end() ? "" : json::serialize(other->second))
                       << "\nexpected: " << json::serialize(row));
  }
}

} // namespace superstep::testing
