// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

// Small graphs and gates shared by the engine's tests.
namespace testing {

namespace ss = superstep;

struct append_all {
  void operator()(std::vector<int>& into, std::vector<int>&& more) const {
    into.insert(into.end(), more.begin(), more.end());
  }
};

struct numbers {
  int n = 0;
  int total = 0;
  std::vector<int> seen;
  using reducers =
      ss::reducers<ss::by<&numbers::total, std::plus<>>, ss::by<&numbers::seen, append_all>>;
};
BOOST_DESCRIBE_STRUCT(numbers, (), (n, total, seen))

inline constexpr ss::node<numbers> a{"a"}, b{"b"}, c{"c"};
inline constexpr ss::node<int> worker{"worker"};

inline ss::update<numbers> add_one(const numbers& s) {
  return ss::update{ss::set<&numbers::n>(s.n + 1)};
}

/// Returns n Sends to `worker` with payloads 0 … n-1.
inline ss::destinations fan_out(const numbers& s) {
  auto all = ss::destinations{};
  for (auto i = 0; i < s.n; ++i)
    all.emplace_back(worker, i);
  return all;
}

/// Coroutines wait at it until the test opens it.
class gate {
public:
  [[nodiscard]] ss::task<int> pass() {
    co_return co_await ss::await_callback<int>([this](ss::completer<int> done) {
      auto open = std::optional<int>{};
      {
        const auto lock = std::scoped_lock{mutex_};
        ++arrived_;
        if (open_)
          open = open_;
        else
          waiting_.push_back(done);
      }
      changed_.notify_all();
      if (open)
        done(*open);
    });
  }
  void open(int value = 0) {
    auto waiting = std::vector<ss::completer<int>>{};
    {
      const auto lock = std::scoped_lock{mutex_};
      open_ = value;
      waiting.swap(waiting_);
    }
    for (auto& w : waiting)
      w(value);
  }
  /// Lets the coroutines that wait now pass; later ones wait again.
  void open_once() {
    auto waiting = std::vector<ss::completer<int>>{};
    {
      const auto lock = std::scoped_lock{mutex_};
      waiting.swap(waiting_);
    }
    for (auto& w : waiting)
      w(0);
  }
  void await_arrivals(int n) {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock, [&] { return arrived_ >= n; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ss::completer<int>> waiting_;
  std::optional<int> open_;
  int arrived_ = 0;
};

/// Blocking bodies wait at it until the test opens it.
class door {
public:
  void pass() {
    auto lock = std::unique_lock{mutex_};
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    {
      const auto lock = std::scoped_lock{mutex_};
      open_ = true;
    }
    changed_.notify_all();
  }
  void await_inside(int n) {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock, [&] { return inside_ >= n; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

/// A run in the background and its result.
template <class State>
class background_run {
public:
  background_run(ss::engine& e, const ss::compiled_graph<State>& g, State input,
                 ss::run_config config = {})
      : result_{ended_->get_future()}, handle{e.submit(g, std::move(input), std::move(config),
                                                       [ended = ended_](ss::run_result<State> r) {
                                                         ended->set_value(std::move(r));
                                                       })} {}
  [[nodiscard]] ss::run_result<State> result() { return result_.get(); }
  [[nodiscard]] bool has_ended() const {
    return result_.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
  }

private:
  std::shared_ptr<std::promise<ss::run_result<State>>> ended_ =
      std::make_shared<std::promise<ss::run_result<State>>>();
  std::future<ss::run_result<State>> result_;

public:
  ss::run_handle handle;
};

/// Polls the debug interface until an actor matches.
template <class Wanted>
ss::actor_info await_actor(ss::engine& e, const ss::run_handle& run, Wanted wanted) {
  for (;;) {
    for (auto& info : e.debug().actors(run)) {
      if (wanted(info))
        return info;
    }
    std::this_thread::yield();
  }
}

} // namespace testing
