// SPDX-License-Identifier: Apache-2.0
// The queue for one place that is fair between runs; fair_line.hpp describes the order.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/base/detail/fair_line.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace superstep {

// Invariant: no coroutine waits while the place is free. admit() restores it, and until then
// newcomers do not get the place. Waits are ended outside the lock: if the waiting coroutine was
// destroyed, its turn is destroyed at once, which takes the lock again.

struct fair_line::state {
  /// A run that has entered the queue.
  struct run {
    std::uint64_t start = 0;
    std::size_t present = 0; ///< coroutines that wait or have the place
    /// The run's entry of `absent` while it is present, so that leave() need not allocate it.
    std::map<std::uint64_t, std::size_t>::node_type absence;
  };
  /// The order of admission: the number of coroutines of the same run that are present already, the
  /// start of the run, and the order of arrival.
  using rank = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;
  struct waiter {
    completer<turn> done;
    std::size_t key;
  };

  mutable std::mutex mutex;
  bool is_taken = false;
  std::size_t holder = 0; ///< the run that has the place
  std::size_t runs_max = 0;
  std::uint64_t next_start = 0;
  std::uint64_t next_arrival = 0;
  std::map<rank, waiter> line;
  std::unordered_map<std::size_t, run> runs; ///< by the hash of the run's name
  /// The runs with no coroutine present, by their start. Only these can be forgotten.
  std::map<std::uint64_t, std::size_t> absent;

  run& run_of(std::size_t key) {
    const auto [found, is_new] = runs.try_emplace(key);
    if (is_new) {
      found->second.start = next_start++;
      absent.emplace(found->second.start, found->first);
      // The new run, which started last, is kept, because the reference to it is returned.
      while (runs.size() > runs_max && absent.begin()->second != key) {
        runs.erase(absent.begin()->second);
        absent.erase(absent.begin());
      }
    }
    return found->second;
  }
  void take(std::size_t key) {
    is_taken = true;
    holder = key;
  }
  /// Adds a coroutine of a run, and returns how many were present.
  std::size_t enter(run& of) {
    if (of.present == 0)
      of.absence = absent.extract(of.start);
    return of.present++;
  }
  void leave(std::size_t key) noexcept {
    auto& of = runs.find(key)->second;
    if (--of.present == 0)
      absent.insert(std::move(of.absence));
  }
};

void fair_line::turn::release() noexcept {
  if (!of_)
    return;
  const auto of = std::exchange(of_, nullptr);
  {
    const auto lock = std::scoped_lock{of->mutex};
    SUPERSTEP_ASSERT(of->is_taken);
    of->is_taken = false;
    of->leave(of->holder);
  }
  admit(of);
}

fair_line::fair_line(std::size_t runs_max) : state_{std::make_shared<state>()} {
  SUPERSTEP_ASSERT(runs_max > 0);
  state_->runs_max = runs_max;
}

std::optional<fair_line::turn> fair_line::enter_now(const std::shared_ptr<state>& in,
                                                    std::size_t run) {
  const auto lock = std::scoped_lock{in->mutex};
  auto& of = in->run_of(run); // records the start of a new run
  if (in->is_taken || !in->line.empty())
    return std::nullopt;
  in->enter(of);
  in->take(run);
  return turn{in};
}

std::optional<fair_line::turn> fair_line::try_enter(std::string_view run) const {
  return enter_now(state_, std::hash<std::string_view>{}(run));
}

task<fair_line::turn> fair_line::enter(std::string_view run) const {
  return [](std::shared_ptr<state> in, std::size_t key) -> task<turn> {
    if (auto at_once = enter_now(in, key))
      co_return std::move(*at_once);
    auto start = [in, key](completer<turn> done) {
      auto place = state::rank{};
      {
        const auto lock = std::scoped_lock{in->mutex};
        auto& of = in->run_of(key);
        place = {in->enter(of), of.start, in->next_arrival++};
        in->line.emplace(place, state::waiter{done, key});
      }
      // Has no effect if the coroutine was admitted meanwhile. Its turn is then given back by the
      // turn's destructor.
      done.on_abandon([in, place] {
        const auto lock = std::scoped_lock{in->mutex};
        if (const auto at = in->line.find(place); at != in->line.end()) {
          in->leave(at->second.key);
          in->line.erase(at);
        }
      });
      admit(in);
    };
    auto got = await_callback<turn>(std::move(start));
    co_return co_await got;
  }(state_, std::hash<std::string_view>{}(run));
}

void fair_line::admit(const std::shared_ptr<state>& in) {
  auto first = std::optional<completer<turn>>{};
  {
    const auto lock = std::scoped_lock{in->mutex};
    if (in->line.empty() || in->is_taken)
      return;
    first.emplace(in->line.begin()->second.done);
    in->take(in->line.begin()->second.key);
    in->line.erase(in->line.begin());
  }
  (*first)(turn{in});
}

std::size_t fair_line::waiting() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->line.size();
}

} // namespace superstep
