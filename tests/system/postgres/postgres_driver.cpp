// SPDX-License-Identifier: Apache-2.0
// postgres_driver work URL PREFIX DURABILITY: runs the threads of crash_graph.hpp to their end.
// postgres_driver show URL PREFIX: prints their history.
// postgres_driver hold URL THREAD: acquires a thread, prints a line, and waits to be killed.
#include "system/checkpoint/crash_graph.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <future>
#include <iostream>
#include <string>

#include <unistd.h>

namespace {

namespace ss = superstep;

int hold(const std::shared_ptr<ss::checkpointer>& in, const std::string& thread) {
  auto lent = std::promise<ss::result<ss::lease_ptr>>{};
  in->take(thread, ss::busy_policy::wait, [&](auto got) { lent.set_value(std::move(got)); });
  const auto lease = lent.get_future().get();
  if (!lease)
    throw std::runtime_error{lease.error().text};
  std::cout << "held" << std::endl;
  while (true)
    ::pause();
}

int run(const std::vector<std::string>& given) {
  auto options = ss::postgres_checkpointer_options{};
  // The process that takes over a killed one should not wait for long.
  options.lease_time = std::chrono::milliseconds{given.at(0) == "hold" ? 2'000 : 500};
  const auto in = ss::postgres_checkpointer(given.at(1), options);
  if (given.at(0) == "hold")
    return hold(in, given.at(2));
  if (given.at(0) == "work")
    crash_test::work(in, static_cast<ss::durability>(std::stoi(given.at(3))), given.at(2));
  else
    std::cout << crash_test::describe(crash_test::make_graph(in), given.at(2));
  return 0;
}

} // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
