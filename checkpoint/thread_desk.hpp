// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// What somebody is told who begins an effect that another run has begun.
[[nodiscard]] saver_error effect_begun_twice(std::string_view thread_id);

/// Hands the threads of one saver to the runs of this process, one at a time.
class thread_desk : public std::enable_shared_from_this<thread_desk> {
public:
  using callback = std::function<void(result<lease_ptr>)>;
  /// Calls back at once, or from the thread that gives the lease back.
  void take(const std::string& thread_id, when_in_use, callback done);

private:
  class lease;
  struct line {
    lease* holder = nullptr;
    std::deque<callback> waiting; // one a run
  };
  [[nodiscard]] lease_ptr hand_out(line&, const std::string& thread_id);
  void give_back(const lease&);

  std::mutex mutex_;
  std::map<std::string, line> lines_;
};

/// The leases of all these threads, from a desk or lessor. Throws saver_error{in_use}, with none
/// kept, where somebody has one.
template <class From, class Names>
std::vector<lease_ptr> take_all(From& from, const Names& threads) {
  auto out = std::vector<lease_ptr>{};
  for (const auto& thread_id : threads) {
    auto got = result<lease_ptr>{lease_ptr{}};
    from.take(thread_id, when_in_use::refuse, // and so at once
              [&got](result<lease_ptr> lent) { got = std::move(lent); });
    if (!got)
      throw saver_error{got.error().code, got.error().text};
    out.push_back(std::move(*got));
  }
  return out;
}

} // namespace superstep::detail
