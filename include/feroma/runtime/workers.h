#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "feroma/client/trainer.h"
#include "feroma/engine/engine.h"

namespace feroma {

/**
 * One thread per core, each with its own engine. `run` hands out whole tasks; there is no threading inside a task.
 * Only the thread that made the object calls `run`.
 */
class Workers {
 public:
  using EngineFactory = std::function<std::unique_ptr<Engine>()>;

  /// `make_engine` is called once on each thread; an error in it reaches the caller of `run`.
  Workers(int threads, EngineFactory make_engine);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls task(i, trainer) for i in 0..count-1, in any order on any thread; returns when all are done. The error of
  /// the lowest failed task is rethrown. When `stop` becomes true no further task starts and `interrupted` is thrown.
  void run(std::size_t count, const std::function<void(std::size_t, Trainer&)>& task, const std::atomic<bool>& stop);
  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void work(const EngineFactory& make_engine);
  void take_tasks(Trainer& trainer);
  void fail_with(std::exception_ptr failure, std::size_t index);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(std::size_t, Trainer&)>* task_ = nullptr;
  const std::atomic<bool>* stop_ = nullptr;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::size_t active_ = 0;
  std::uint64_t generation_ = 0;
  std::size_t failed_index_ = 0;
  std::exception_ptr failure_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  // last: threads end before the rest is destroyed
};

/// Engines of one kind, each prepared for its own thread.
[[nodiscard]] Workers::EngineFactory engine_factory(EngineKind kind, const ModelSpec& model);

}  // namespace feroma
