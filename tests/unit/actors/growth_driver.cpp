// SPDX-License-Identifier: Apache-2.0
// growth_driver NAME N [REPETITIONS]
//
// Does the work NAME with N items and prints the CPU time per item in microseconds, the minimum of
// the repetitions (1). With the name timed_runs, prints the growth of the process's memory in bytes
// between 10,000 runs and N runs instead. `scripts/soak growth` compares sizes.
#include "growth_work.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

namespace work = testing::work;

constexpr auto warm_up = 10'000;

struct measured {
  std::string_view name;
  double (*measure)(int);
};

constexpr measured all[] = {{"cancel_wide", work::cancel_wide},
                            {"cancel_many", work::cancel_many},
                            {"park_many", work::park_many},
                            {"kept_sends", work::kept_sends},
                            {"cached_sends", work::cached_sends},
                            {"resume_interrupted", work::resume_interrupted},
                            {"read_interrupted", work::read_interrupted},
                            {"slow_readers", work::slow_readers},
                            {"long_chain", work::long_chain},
                            {"wide_join", work::wide_join},
                            {"many_joins", work::many_joins},
                            {"mailed_writes", work::mailed_writes}};

double microseconds_per_item(const measured& of, int n, int repetitions) {
  auto least = std::numeric_limits<double>::max();
  for (auto i = 0; i < repetitions; ++i)
    least = std::min(least, of.measure(n));
  return least / n * 1e6;
}

} // namespace

int main(int count, char** arguments) try {
  if (count < 3 || count > 4)
    throw std::invalid_argument{"usage: growth_driver NAME N [REPETITIONS]"};
  const auto name = std::string_view{arguments[1]};
  const auto n = std::stoi(arguments[2]);
  const auto repetitions = count > 3 ? std::stoi(arguments[3]) : 1;
  if (n < 1 || repetitions < 1)
    throw std::invalid_argument{"N and REPETITIONS must be at least 1"};
  if (name == "timed_runs") {
    const auto before = work::memory_after_timed_runs(warm_up);
    const auto after = work::memory_after_timed_runs(n);
    std::printf("%lld\n", static_cast<long long>(after) - static_cast<long long>(before));
    return EXIT_SUCCESS;
  }
  const auto* const found = std::find_if(std::begin(all), std::end(all),
                                         [&](const auto& each) { return each.name == name; });
  if (found == std::end(all))
    throw std::invalid_argument{"there is no work with the name '" + std::string{name} + "'"};
  std::printf("%.3f\n", microseconds_per_item(*found, n, repetitions));
  return EXIT_SUCCESS;
} catch (const std::exception& e) {
  std::fprintf(stderr, "growth_driver: %s\n", e.what());
  return EXIT_FAILURE;
}
