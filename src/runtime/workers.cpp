#include "feroma/runtime/workers.h"

#include <optional>

#include "feroma/core/error.h"

namespace feroma {

Workers::Workers(int threads, EngineFactory make_engine) {
  require(threads >= 1, ErrorCode::invalid_config, "--threads must be >= 1, got {}", threads);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, make_engine] { work(make_engine); });
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
}

void Workers::work(const EngineFactory& make_engine) {
  std::unique_ptr<Engine> engine;
  std::optional<Trainer> trainer;
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return closing_ || generation_ != seen; });
      if (closing_) {
        return;
      }
      seen = generation_;
    }
    try {
      if (!trainer) {
        engine = make_engine();
        trainer.emplace(*engine);
      }
      take_tasks(*trainer);
    } catch (...) {
      fail_with(std::current_exception(), 0);
    }
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) {
      done_.notify_one();
    }
  }
}

void Workers::fail_with(std::exception_ptr failure, std::size_t index) {
  const std::lock_guard lock(mutex_);
  if (!failure_ || index < failed_index_) {
    failure_ = std::move(failure);
    failed_index_ = index;
  }
}

void Workers::take_tasks(Trainer& trainer) {
  for (;;) {
    std::size_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == count_ || failure_ || stop_->load()) {
        return;
      }
      index = next_++;
    }
    try {
      (*task_)(index, trainer);
    } catch (...) {
      fail_with(std::current_exception(), index);
    }
  }
}

void Workers::run(std::size_t count, const std::function<void(std::size_t, Trainer&)>& task,
                  const std::atomic<bool>& stop) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  stop_ = &stop;
  count_ = count;
  next_ = 0;
  failure_ = nullptr;
  active_ = threads_.size();
  ++generation_;
  wake_.notify_all();
  done_.wait(lock, [&] { return active_ == 0; });
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  require(next_ == count_, ErrorCode::interrupted, "interrupted");
}

Workers::EngineFactory engine_factory(EngineKind kind, const ModelSpec& model) {
  require_engine(kind);
  return [kind, model] {
    prepare_worker_thread(kind);
    return make_engine(kind, model);
  };
}

}  // namespace feroma
